"""Arrow batches of raw records: by column for what is done to all, row by row for the few."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fleetlane.events import headers as ce
from fleetlane.events.envelope import Header, KafkaPosition

type RawBatch = pa.RecordBatch
"""Records with the columns of ``kafka.source_and_sink.raw_records``."""


class RawRecord(NamedTuple):
    """One record of a raw topic."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    topic: str
    partition: int
    offset: int

    @property
    def position(self) -> KafkaPosition:
        return KafkaPosition(topic=self.topic, partition=self.partition, offset=self.offset)


def streams_in(batch: RawBatch) -> int:
    """How many streams its records are of."""
    headers = batch.column("headers").flatten()
    is_type = pc.equal(headers.field("key"), ce.TYPE)
    return len(pc.unique(headers.field("value").filter(is_type)))


def record_at(batch: RawBatch, row: int) -> RawRecord:
    headers = batch.column("headers")[row].as_py() or ()
    key, value, topic, partition, offset = (
        batch.column(name)[row].as_py() for name in ("key", "value", "topic", "partition", "offset")
    )
    pairs = [(header["key"], header["value"]) for header in headers]
    return RawRecord(key, value, pairs, topic, partition, offset)
