"""Output records gathered into Arrow batches of bounded size."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from fleetlane.events.envelope import Header
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from glue_jobs.kafka.source_and_sink import HEADERS, HEADERS_TYPE

BATCH_BYTES_MAX: Final = 8 << 20
SMALL_BYTES_MAX: Final = 1 << 20
"""Batches up to this size are joined: each one costs Spark as much as some hundred records do."""

OUTPUT_SCHEMA: Final = f"topic string, key binary, value binary, headers {HEADERS_TYPE}"
_SCHEMA: Final = pa.schema(
    [("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)]
)


class OutputRecord(NamedTuple):
    """One record to write. Without ``headers`` it gets its topic's content type."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[Header] | None = None


class OutputBatches:
    """Gathers records, and gives them as a batch of ``OUTPUT_SCHEMA``."""

    def __init__(self) -> None:
        self._records: list[OutputRecord] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes >= BATCH_BYTES_MAX

    def add(self, record: OutputRecord) -> None:
        self._records.append(record)
        self._bytes += len(record.value or b"")

    def taken(self) -> pa.RecordBatch:
        """Give what is gathered, and start empty."""
        records, self._records, self._bytes = self._records, [], 0
        return pa.RecordBatch.from_pylist([one._asdict() for one in records], _SCHEMA)


class JoinedBatches:
    """Joins batches of ``OUTPUT_SCHEMA`` that are small; the order of all records stays."""

    def __init__(self, *, small_bytes_max: int) -> None:
        self._bytes_max = small_bytes_max
        self._small: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take a batch, and give what is to be handed on now."""
        size_bytes = batch.nbytes
        if self._bytes + size_bytes > self._bytes_max:
            yield from self.taken()
        if size_bytes > self._bytes_max:
            yield batch
            return
        self._small.append(batch)
        self._bytes += size_bytes

    def taken(self) -> Iterator[pa.RecordBatch]:
        small, self._small, self._bytes = self._small, [], 0
        if len(small) > 1:
            small = [pa.concat_batches(small)]
        yield from small


def as_batch(records: CanonicalRecords | pa.RecordBatch) -> pa.RecordBatch:
    """Wrap canonical records, uncopied, as a batch of ``OUTPUT_SCHEMA``; others are one."""
    if isinstance(records, pa.RecordBatch):
        return records
    count = len(records)
    topics = pa.array(records.topics, pa.string())
    return headerless_batch(
        topics.take(_column(pa.uint8(), count, records.topic_indexes)),
        _column(pa.binary(), count, records.key_ends, records.keys),
        _column(pa.binary(), count, records.value_ends, records.values),
    )


def headerless_batch(topics: pa.Array, keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    """Records that get their topic's content type, as a batch of ``OUTPUT_SCHEMA``."""
    return pa.record_batch([topics, keys, values, pa.nulls(len(keys), HEADERS)], schema=_SCHEMA)


def _column(kind: pa.DataType, count: int, *buffers: memoryview) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, *map(pa.py_buffer, buffers)])
