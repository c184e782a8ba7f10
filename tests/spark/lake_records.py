"""Records as the lake's queries read them from Kafka."""

from collections.abc import Iterable, Sequence
from copy import replace
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count

import orjson
from pyspark.sql import DataFrame, SparkSession

from fleetlane.events.canonical import EventTime, TimeQuality, event_data, message_prefix
from fleetlane.events.envelope import (
    Header,
    KafkaPosition,
    Message,
    Parking,
    headers_of,
    parked_headers,
)
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed
from tests.canonical_value import canonical_value

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " headers array<struct<key: string, value: binary>>"
)
NOON_MS = 1_762_171_200_000
"""2025-11-03T12:00:00Z."""
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

WRITTEN_AT = datetime(2025, 11, 3, 12, tzinfo=UTC)

type Record = tuple[str, bytes | None, Sequence[Header]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that landed; what is made of it tells the same id, device, stream and arrival."""

    number: int
    arrival_ms: int = NOON_MS
    device_id: str = "d-1"
    stream: str = "gps"

    @property
    def raw_id(self) -> str:
        return f"1{self.number:032x}"

    @property
    def message(self) -> Message:
        return Message(
            raw_id=self.raw_id,
            device_id=self.device_id,
            stream=self.stream,
            arrival_millis=self.arrival_ms,
            lane=Lane.STANDARD,
            body=b"xyz",
            body_bytes=3,
        )

    def event(
        self,
        ordinal: int = 0,
        *,
        at_ms: int | None = NOON_MS,
        revision: int = 0,
        event_id: str | None = None,
        parser: str = "json@1",
    ) -> Record:
        quality = TimeQuality.MISSING if at_ms is None else TimeQuality.OK
        time = EventTime(at_ms, quality, self.arrival_ms if at_ms is None else at_ms)
        value = canonical_value(
            message_prefix(replace(self.message, revision=revision), parser=parser),
            event_id=event_id or f"{self.raw_id}-{ordinal}",
            time=time,
            data=event_data({"n": self.number, "revision": revision}),
        )
        return f"canonical.{self.stream}", value, ()

    def unique_event(self, ordinal: int = 0) -> Record:
        _, value, headers = self.event(ordinal)
        return f"unique.{self.stream}", value, headers

    def received(self, **changes: object) -> Record:
        row = {
            "id": self.raw_id,
            "device_id": self.device_id,
            "stream": self.stream,
            "lane": "standard",
            "source_topic": "raw.standard",
            "source_partition": 0,
            "source_offset": self.number,
            "received_ms": self.arrival_ms,
            "body_bytes": 3,
            "by_reference": False,
            **changes,
        }
        return "fleet.received", orjson.dumps(row), ()

    def parsed(self, outcome: Outcome = Outcome.PARSED, **changes: object) -> Record:
        row = Parsed(
            id=self.raw_id,
            attempt=1,
            device_id=self.device_id,
            stream=self.stream,
            lane=Lane.STANDARD,
            source_topic="raw.standard",
            source_partition=0,
            source_offset=self.number,
            outcome=outcome,
            parsed_ms=self.arrival_ms + 5,
            received_ms=self.arrival_ms,
            events=1,
            parse_us=40,
            inflated_bytes=6,
        )
        return "fleet.parsed", orjson.dumps({**asdict(row), **changes}), ()

    def parked(self, *, parked_ms: int | None = None) -> Record:
        parking = Parking(
            reason=ParkedReason.MALFORMED,
            detail="no",
            position=KafkaPosition(topic="raw.standard", partition=0, offset=self.number),
            parser="json@1",
            parked_millis=self.arrival_ms if parked_ms is None else parked_ms,
        )
        return "parked", b"x\xffz", parked_headers(headers_of(self.message), parking)


def read(session: SparkSession, records: Iterable[Record]) -> DataFrame:
    """What a query is given of ``records``."""
    offsets = count()
    rows = [
        (None, value, topic, 0, next(offsets), WRITTEN_AT, list(headers))
        for topic, value, headers in records
    ]
    return session.createDataFrame(rows, SCHEMA)
