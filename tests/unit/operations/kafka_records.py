"""Hand-made Kafka records for the ledger's tests: what a platform that works would have written."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

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

RAW_ID = "1" + "ab" * 16
OTHER_ID = "1" + "cd" * 16
BODY = b"\x01\x02\x03"
SHA256 = sha256(BODY).hexdigest()
ARRIVAL_MILLIS = 1_793_714_709_123


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeRecord(Record):
    headers: tuple[Header, ...] = ()
    partition: int = 0
    offset: int = 0
    timestamp_ms: int = ARRIVAL_MILLIS
    key: bytes | None = None


def message_of(raw_id: str = RAW_ID, *, body: bytes | None = BODY, **changes: Any) -> Message:
    fields: dict[str, object] = {
        "raw_id": raw_id,
        "device_id": "d-17",
        "stream": "thermo",
        "arrival_millis": ARRIVAL_MILLIS,
        "lane": Lane.STANDARD,
        "body": body,
        "body_bytes": len(BODY if body is None else body),
    }
    return Message(**fields | changes)  # type: ignore[arg-type] # a test's own fields


def landed(raw_id: str = RAW_ID, *, offset: int = 0, **changes: Any) -> FakeRecord:
    message = message_of(raw_id, **changes)
    return FakeRecord(
        topic="raw.standard", value=message.body, headers=tuple(headers_of(message)), offset=offset
    )


def received(raw_id: str = RAW_ID) -> FakeRecord:
    row = {
        "id": raw_id,
        "device_id": "d-17",
        "stream": "thermo",
        "lane": "standard",
        "source_topic": "raw.standard",
        "source_partition": 0,
        "source_offset": 0,
        "received_ms": ARRIVAL_MILLIS,
        "body_bytes": 3,
        "by_reference": False,
    }
    return FakeRecord(topic="fleet.received", value=orjson.dumps(row))


def tried(
    outcome: Outcome,
    raw_id: str = RAW_ID,
    *,
    attempt: int = 1,
    events: int = 0,
    revision: int = 0,
    offset: int = 0,
) -> FakeRecord:
    row = Parsed(
        id=raw_id,
        attempt=attempt,
        device_id="d-17",
        stream="thermo",
        lane=Lane.STANDARD,
        source_topic="raw.standard",
        source_partition=0,
        source_offset=offset,
        outcome=outcome,
        parsed_ms=ARRIVAL_MILLIS,
        events=events,
        revision=revision,
    )
    return FakeRecord(topic="fleet.parsed", value=parsed_value(row))


def canonical(ordinal: int = 0, raw_id: str = RAW_ID, *, revision: int = 0) -> FakeRecord:
    event = {
        "specversion": "1.0",
        "id": f"{raw_id}-{ordinal}",
        "source": "/devices/d-17",
        "type": "thermo",
        "rawid": raw_id,
        "arrivalmillis": str(ARRIVAL_MILLIS),
        "parser": "acme-thermo@1.2.0",
        "revision": revision,
        "timequality": "missing",
        "data": {},
    }
    return FakeRecord(topic="canonical.thermo", value=orjson.dumps(event))


def unique(ordinal: int = 0, raw_id: str = RAW_ID, *, revision: int = 0) -> FakeRecord:
    value = canonical(ordinal, raw_id, revision=revision).value
    return FakeRecord(topic="unique.thermo", value=value)


def parked(
    raw_id: str = RAW_ID,
    *,
    body: bytes = BODY,
    reference: PayloadReference | None = None,
    reason: ParkedReason = ParkedReason.MALFORMED,
) -> FakeRecord:
    message = message_of(raw_id, body=None if reference else body, reference=reference)
    return FakeRecord(
        topic="parked",
        value=message.body,
        headers=tuple(parked_headers(headers_of(message), parking_of(reason))),
    )


def parking_of(reason: ParkedReason) -> Parking:
    return Parking(
        reason=reason,
        detail="",
        position=KafkaPosition(topic="raw.standard", partition=0, offset=0),
        parser=None,
        parked_millis=ARRIVAL_MILLIS,
    )
