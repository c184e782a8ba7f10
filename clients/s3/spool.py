"""Where records wait while Kafka does not take them: a bucket in S3, without any expiry.

The format of its objects is in docs/outages.md. A reader ignores fields that it does not know; what
it could not ignore has another number in the first line.
"""

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import batched
from typing import Any, Final

import msgspec

from clients.aws import S3Client
from clients.bucket_objects import BucketObjects
from clients.kafka.producer_record import ProducerRecord
from fleetlane.events import headers as ce
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.s3_keys import SPOOL
from fleetlane.events.times import millis_of

SHARDS: Final = "01234567"
"""S3 takes 3,500 objects a second under one beginning of a key."""

_FIRST_LINE: Final = b"fleetlane-spool/1\n"
_SHOWN_BYTES: Final = 40
_MINUTE: Final = "%Y%m%dT%H%MZ"
_DELETED_AT_ONCE_MAX: Final = 1_000


class SpoolUnavailableError(FleetlaneError):
    """S3 does not answer, or not as it should. Trying again later may succeed."""

    problem: str
    sentence = "the spool cannot be reached: {problem}"


class SpoolUnreadableError(FleetlaneError):
    """An object in the spool is none that this version can read. It is left where it is."""

    key: str
    problem: str
    sentence = "spooled object {key} cannot be read: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spooled:
    """Records that are durable in the spool, by the key of their object."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An object that waits in the spool. ``since_ms`` is exact to a minute."""

    key: str
    since_ms: int
    object_bytes: int


class Spool:
    """The bucket. ``s3`` is a client with time-outs.

    Every method raises ``SpoolUnavailableError`` where S3 does not answer; calling again is safe.
    """

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket
        self._objects = BucketObjects(s3, bucket, lambda _, problem: SpoolUnavailableError(problem))

    def put(self, records: Sequence[ProducerRecord], *, now_ms: int) -> Spooled:
        """Store records as one object; returns once S3 has it and has found its digest right."""
        content = spooled_bytes(records)
        sha256 = hashlib.sha256(content).digest()
        key = _key(records[0], sha256, now_ms)
        self._objects.put_promptly(key, content, sha256=sha256)
        return Spooled(key=key)

    def waiting(self) -> Iterator[Waiting]:
        """Go through all that waits, the oldest minute first. S3 is asked as far as one reads."""
        shards = (map(_waiting, self._objects.listed(f"{SPOOL}{shard}/")) for shard in SHARDS)
        return heapq.merge(*shards, key=lambda one: (one.since_ms, one.key))

    def get(self, key: str) -> list[ProducerRecord] | None:
        """Read an object; ``None`` if it is gone. Raises as ``records_in``."""
        found = self._objects.get(key)
        return None if found is None else records_in(found.body, key=key)

    def delete(self, keys: Sequence[str]) -> list[str]:
        """Delete objects, and return the keys of those that S3 did not delete: they come again."""
        left: list[str] = []
        for some in batched(keys, _DELETED_AT_ONCE_MAX, strict=False):
            wanted: Any = {"Objects": [{"Key": key} for key in some], "Quiet": True}
            call = partial(self._s3.delete_objects, Bucket=self._bucket, Delete=wanted)
            answer: Any = self._objects.ask(SPOOL, call) or {}
            left += [one["Key"] for one in answer.get("Errors", ())]
        return left


def _key(first: ProducerRecord, sha256: bytes, now_ms: int) -> str:
    minute = datetime.fromtimestamp(now_ms / 1000, UTC).strftime(_MINUTE)
    raw_id = next((value for name, value in first.headers if name == ce.ID and value), b"none")
    shard = SHARDS[sha256[0] % len(SHARDS)]
    return f"{SPOOL}{shard}/{minute}/{raw_id.decode()}-{sha256.hex()[:16]}"


def _waiting(found: Any) -> Waiting:
    """An object whose key does not say when it was put is as old as can be."""
    key = found["Key"]
    try:
        since_ms = millis_of(datetime.strptime(key.split("/")[2], _MINUTE).replace(tzinfo=UTC))
    except (IndexError, ValueError):
        since_ms = 0
    return Waiting(key=key, since_ms=since_ms, object_bytes=found["Size"])


def spooled_bytes(records: Sequence[ProducerRecord]) -> bytes:
    return _FIRST_LINE + msgspec.msgpack.encode(records)


def records_in(spooled: bytes, *, key: str) -> list[ProducerRecord]:
    """Read the records of an object; ``key`` is its name, for people.

    Raises ``SpoolUnreadableError`` where it is cut short, altered, or of another version.
    """
    if not spooled.startswith(_FIRST_LINE):
        found = spooled[:_SHOWN_BYTES].split(b"\n", 1)[0]
        raise SpoolUnreadableError(key, f"begins with {found!r}, not with {_FIRST_LINE!r}")
    try:
        body = memoryview(spooled)[len(_FIRST_LINE) :]
        return msgspec.msgpack.decode(body, type=list[ProducerRecord])
    except msgspec.MsgspecError as problem:
        raise SpoolUnreadableError(key, str(problem)) from None
