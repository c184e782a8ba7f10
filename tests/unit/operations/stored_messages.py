"""Records of a message on its way, made by hand, and a store that holds them."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import orjson

from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.canonical import EventTime, TimeQuality, message_prefix
from fleetlane.events.envelope import (
    Header,
    KafkaPosition,
    Message,
    Parking,
    PayloadReference,
    Record,
    headers_of,
    parked_headers,
)
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.events.topics import raw_key
from operations.messages.stores import StoredPayloads
from tests.canonical_value import canonical_value
from tests.contract.aws_in_process import buckets

BODY: Final = b"a large body"
ARRIVAL_MS: Final = 1_793_714_709_123
RAW_ID: Final = "1" + "ab" * 16
OTHER_ID: Final = "1" + "cd" * 16
_NO_TIME: Final = EventTime(millis=None, quality=TimeQuality.MISSING, bucket_millis=ARRIVAL_MS)


@dataclass(slots=True)
class FakeStore:
    """Holds records, one partition a topic. Passes the contract tests of ``StoredRecords``."""

    records: list[Record] = field(default_factory=list)
    on_read: Callable[[Record], object] = bool

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        for record in list(self.records):
            is_new = since_ms is None or record.timestamp_ms >= since_ms
            if is_new and re.fullmatch(pattern, record.topic):
                self.on_read(record)
                yield record

    def write(
        self,
        topic: str,
        *,
        value: bytes | None,
        headers: Iterable[Header] = (),
        at_ms: int = ARRIVAL_MS,
    ) -> Record:
        record = Record(
            topic=topic,
            partition=0,
            offset=sum(one.topic == topic for one in self.records),
            timestamp_ms=at_ms,
            key=raw_key(ARRIVAL_MS),
            value=value,
            headers=tuple(headers),
        )
        self.records.append(record)
        return record

    def land(
        self, message: Message, topic: str = "raw.standard", *, at_ms: int = ARRIVAL_MS
    ) -> Record:
        return self.write(topic, value=message.body, headers=headers_of(message), at_ms=at_ms)

    def park(
        self,
        message: Message,
        reason: ParkedReason = ParkedReason.MALFORMED,
        *,
        at_ms: int = ARRIVAL_MS,
        parser: str | None = "tank@1.0.0",
    ) -> Record:
        headers = parked_headers(headers_of(message), parking_of(reason, at_ms, parser))
        return self.write("parked", value=message.body, headers=headers, at_ms=at_ms)

    def tell(
        self,
        message: Message,
        outcome: Outcome,
        *,
        at_ms: int = ARRIVAL_MS,
        events: int = 0,
        parser: str = "tank@1.0.0",
    ) -> Record:
        row = Parsed(
            id=message.raw_id,
            attempt=message.attempt,
            device_id=message.device_id,
            stream=message.stream,
            lane=message.lane,
            source_topic="raw.standard",
            source_partition=0,
            source_offset=0,
            outcome=outcome,
            parsed_ms=at_ms,
            reason=ParkedReason.MALFORMED if outcome is Outcome.PARKED else None,
            parser=parser,
            revision=message.revision,
            events=events,
        )
        return self.write("fleet.parsed", value=parsed_value(row), at_ms=at_ms)

    def receive(self, message: Message) -> Record:
        row = {
            "id": message.raw_id,
            "device_id": message.device_id,
            "stream": message.stream,
            "lane": message.lane,
            "source_topic": "raw.standard",
            "source_partition": 0,
            "source_offset": 0,
            "received_ms": ARRIVAL_MS,
            "body_bytes": message.body_bytes,
            "by_reference": False,
        }
        return self.write("fleet.received", value=orjson.dumps(row))

    def emit(self, message: Message, event_id: str, parser: str = "tank@1.0.0") -> Record:
        prefix = message_prefix(message, parser=parser)
        value = canonical_value(prefix, event_id=event_id, time=_NO_TIME, data=b"{}")
        return self.write(f"canonical.{message.stream}", value=value)


def message_of(raw_id: str = RAW_ID, body: bytes | None = b"\x01\x02", **changes: Any) -> Message:
    fields: dict[str, object] = {
        "raw_id": raw_id,
        "device_id": "d-17",
        "stream": "tank",
        "arrival_millis": ARRIVAL_MS,
        "lane": Lane.STANDARD,
        "body": body,
        "body_bytes": len(body or b""),
    }
    return Message(**fields | changes)  # type: ignore[arg-type] # a test's own fields


def parking_of(reason: ParkedReason, at_ms: int, parser: str | None) -> Parking:
    return Parking(
        reason=reason,
        detail="5 bytes; a level is 6 bytes",
        position=KafkaPosition(topic="raw.standard", partition=0, offset=3),
        parser=parser,
        parked_millis=at_ms,
    )


def by_reference(raw_id: str = RAW_ID, key: str = "payloads/1") -> Message:
    reference = PayloadReference(key=key, sha256=sha256(BODY).hexdigest())
    return message_of(raw_id, None, reference=reference, body_bytes=len(BODY))


@contextmanager
def payloads(*, landed: Iterable[str] = (), parked: Iterable[str] = ()) -> Iterator[StoredPayloads]:
    """Buckets, in this process, that hold ``BODY`` under these keys."""
    with buckets("landed", "parked") as s3:
        for bucket, keys in (("landed", landed), ("parked", parked)):
            for key in keys:
                s3.put_object(Bucket=bucket, Key=key, Body=BODY)
        yield StoredPayloads(
            landed=lambda: PayloadBucket(s3, "landed"), parked=lambda: PayloadBucket(s3, "parked")
        )
