"""What a platform has stored: records by their id, objects by their key, and what is new."""

from contextlib import closing
from typing import TYPE_CHECKING, Final

import orjson

from clients.kafka.reader import KafkaReader
from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.topic_patterns import raw_pattern
from local.platform import Platform
from operations.endpoints import PAYLOAD_BUCKET
from operations.messages.stores import tail

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SILENCE_S_MAX: Final = 60.0
_FIRST_ATTEMPT: Final = b"1"


class Landings:
    """What devices land from now on: in the raw topics, and in the bucket of payloads."""

    def __init__(self, platform: Platform) -> None:
        self._s3 = platform.s3
        self._keys = object_keys(self._s3, PAYLOAD_BUCKET)
        self._reader = KafkaReader(
            platform.endpoints.kafka, pattern=raw_pattern(*Lane), is_from_end=True
        )
        self._reader.read_available()

    def new(self) -> list[str]:
        """The ids of new messages, and the keys of new objects. To be asked once."""
        with closing(self._reader) as reader:
            records = reader.read_available()
        messages = [
            (header(record, "ce_id") or b"").decode()
            for record in records
            if header(record, "ce_attempt") == _FIRST_ATTEMPT  # no diversion of another test's
        ]
        return messages + sorted(object_keys(self._s3, PAYLOAD_BUCKET) - self._keys)


def record_of(platform: Platform, topic: str, raw_id: str) -> Record:
    """Wait for the first record of this message in the topic; fails if none comes for a minute."""
    records = tail(
        platform.endpoints.kafka, topic, from_beginning=True, silence_s_max=_SILENCE_S_MAX
    )
    with closing(records):
        found = next((record for record in records if _raw_id_of(record) == raw_id), None)
    assert found is not None, f"{raw_id} is not in {topic}"
    return found


def header(record: Record, name: str) -> bytes | None:
    """The value of a record's header; of several, the first."""
    return next((value for header_name, value in record.headers if header_name == name), None)


def object_keys(s3: "S3Client", bucket: str) -> frozenset[str]:
    """The keys of all objects in a bucket."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return frozenset(found["Key"] for page in pages for found in page.get("Contents", ()))


def object_bytes(s3: "S3Client", bucket: str, key: str) -> bytes:
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def _raw_id_of(record: Record) -> str | None:
    """Of a raw or parked record, in a header; of a canonical one, in its JSON."""
    in_header = header(record, "ce_id")
    if in_header is not None:
        return in_header.decode()
    found: str | None = orjson.loads(record.value or b"{}").get("rawid")
    return found
