"""Arrow batches of raw records, taken apart without making a Python object of every column."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from fleetlane.events.envelope import Header
from fleetlane.events.parked import KafkaPosition


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


def raw_records_of(batch: pa.RecordBatch) -> Iterator[RawRecord]:
    """Give the records of a batch that has the columns of ``glue_jobs.kafka.raw_records``."""
    headers = batch.column("headers")
    flat = headers.flatten()
    names, values = flat.field("key").to_pylist(), flat.field("value").to_pylist()
    pairs = list(zip(names, values, strict=True))
    first = headers.offsets[0].as_py() if batch.num_rows else 0
    ends = [offset.as_py() - first for offset in headers.offsets]
    bodies = batch.column("value")
    columns = (batch.column(name).to_pylist() for name in ("key", "topic", "partition", "offset"))
    for row, (key, topic, partition, offset) in enumerate(zip(*columns, strict=True)):
        yield RawRecord(
            key=key,
            value=bodies[row].as_py(),
            headers=pairs[ends[row] : ends[row + 1]],
            topic=topic,
            partition=partition,
            offset=offset,
        )
