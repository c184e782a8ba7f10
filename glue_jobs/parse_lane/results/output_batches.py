"""Output records gathered into Arrow batches of bounded size."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from fleetlane.events.envelope import Header
from fleetlane.events.topics import FLEET_PARSED
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from glue_jobs.kafka.source_and_sink import HEADERS, HEADERS_TYPE

BATCH_BYTES_MAX: Final = 8 << 20
SMALL_BYTES_MAX: Final = 1 << 20
"""Batches up to this size are joined: each one costs Spark as much as some hundred records do."""

OUTPUT_SCHEMA: Final = f"topic string, key binary, value binary, headers {HEADERS_TYPE}"
_NAMES: Final = ("topic", "key", "value", "headers")


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
        return pa.RecordBatch.from_arrays(
            [
                pa.array([record.topic for record in records], pa.string()),
                pa.array([record.key for record in records], pa.binary()),
                pa.array([record.value for record in records], pa.binary()),
                pa.array([record.headers for record in records], HEADERS),
            ],
            _NAMES,
        )


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
            yield from pa.Table.from_batches(small).combine_chunks().to_batches()
        else:
            yield from small


def canonical_batch(records: CanonicalRecords) -> pa.RecordBatch:
    """Wrap canonical records, uncopied, as a batch of ``OUTPUT_SCHEMA``."""
    count = len(records)
    indexes = pa.Array.from_buffers(pa.uint8(), count, [None, pa.py_buffer(records.topic_indexes)])
    return pa.RecordBatch.from_arrays(
        [
            pa.array(records.topics, pa.string()).take(indexes),
            _column(count, records.key_ends, records.keys),
            _column(count, records.value_ends, records.values),
            pa.nulls(count, HEADERS),
        ],
        _NAMES,
    )


def parsed_batch(keys: pa.Array, values: pa.Array) -> pa.RecordBatch:
    """Records for ``fleet.parsed`` as a batch of ``OUTPUT_SCHEMA``."""
    topics = pa.repeat(pa.scalar(FLEET_PARSED), len(keys))
    columns = [topics, keys, values, pa.nulls(len(keys), HEADERS)]
    return pa.RecordBatch.from_arrays(columns, _NAMES)


def _column(count: int, ends: memoryview, data: memoryview) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])
