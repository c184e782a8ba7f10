"""Arrow batches of raw records: by column for what is done to all, row by row for the few."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fleetlane.events import headers as ce
from fleetlane.events.envelope import Header, KafkaPosition

MESSAGES_A_FLOW: Final = 100
JOINED_BYTES_MAX: Final = 32 << 20

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


def joined_for_flows(
    batches: Iterable[RawBatch], *, bytes_max: int = JOINED_BYTES_MAX
) -> Iterator[RawBatch]:
    """Join batches until each of their flows has some ``MESSAGES_A_FLOW`` messages in one.

    A flow's messages in a batch are one run, and a run costs worker and child as much as dozens of
    messages. Where flows are few nothing is joined.
    """
    joined, rows_wanted = list[RawBatch](), 0
    for batch in batches:
        if not joined:
            rows_wanted = MESSAGES_A_FLOW * streams_in(batch)
        joined.append(batch)
        is_long = sum(map(len, joined)) >= rows_wanted
        if is_long or sum(one.nbytes for one in joined) >= bytes_max:
            yield _as_one(joined)
            joined.clear()
    if joined:
        yield _as_one(joined)


def _as_one(batches: list[RawBatch]) -> RawBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def record_at(batch: RawBatch, row: int) -> RawRecord:
    headers = batch.column("headers")[row].as_py() or ()
    key, value, topic, partition, offset = (
        batch.column(name)[row].as_py() for name in ("key", "value", "topic", "partition", "offset")
    )
    pairs = [(header["key"], header["value"]) for header in headers]
    return RawRecord(key, value, pairs, topic, partition, offset)
