"""Records of a bucket of events travel as one row: Spark hands rows to Python one by one.

A bucket is a part of all events, by their digests; what was seen is kept by it.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from glue_jobs.kafka.source_and_sink import HEADERS, HEADERS_TYPE

BUCKETS: Final = 64
DIGEST: Final = np.dtype([("high", "<u8"), ("low", "<u8")])

NEEDED: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
BUNDLES_TYPE: Final = "bucket int, digests binary, records binary"
RECORDS_TYPE: Final = f"key binary, value binary, headers {HEADERS_TYPE}"

_BUNDLES: Final = pa.schema(
    [("bucket", pa.int32()), ("digests", pa.binary()), ("records", pa.binary())]
)
_RECORDS: Final = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)])


class _Event(msgspec.Struct):
    """What makes two records the same event.

    Of another parser it is another: the lake keeps one parser's events of a message, and all.
    """

    id: str
    revision: int
    parser: str


_event_from: Final = msgspec.json.Decoder(_Event).decode


def bundled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take ``NEEDED`` columns of ``raw_records``, give ``BUNDLES_TYPE``.

    A bundle has a digest for each of its records, which are a record batch in Arrow's IPC format.
    """
    for batch in batches:
        digests = _digests(batch)
        buckets = digests["low"] % BUCKETS
        order = np.argsort(buckets, kind="stable")
        found, begins = np.unique(buckets[order], return_index=True)
        columns = [batch.column(name) for name in _RECORDS.names]
        records = pa.record_batch(columns, schema=_RECORDS).take(pa.array(order))
        digests = digests[order]
        parts = [slice(*ends) for ends in pairwise([*begins.tolist(), len(order)])]
        bundles = {
            "bucket": found.astype(np.int32),
            "digests": [digests[part].tobytes() for part in parts],
            "records": [records[part].serialize().to_pybytes() for part in parts],
        }
        yield pa.record_batch(bundles, schema=_BUNDLES)


def unbundled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the column ``records`` of bundles, give ``RECORDS_TYPE``."""
    for batch in batches:
        bundles = [one.as_buffer() for one in batch.column("records")]
        records = [pa.ipc.read_record_batch(bundle, _RECORDS) for bundle in bundles]
        yield from pa.Table.from_batches(records, _RECORDS).combine_chunks().to_batches()


def without_repeats(records: bytes, is_new: NDArray[np.bool_]) -> bytes:
    kept = pa.ipc.read_record_batch(pa.py_buffer(records), _RECORDS).filter(pa.array(is_new))
    found: bytes = kept.serialize().to_pybytes()
    return found


def _digests(batch: pa.RecordBatch) -> NDArray[np.void]:
    """One a record. What is no event of ours is known by its place and time: like no other."""
    values = batch.column("value").to_pylist()
    digests = bytearray()
    for row, value in enumerate(values):
        try:
            event = _event_from(value or b"")
            name = f"{event.id}#{event.revision}#{event.parser}"
        except (msgspec.DecodeError, UnicodeDecodeError):
            name = "/".join(str(batch.column(part)[row]) for part in NEEDED[3:])
        digests += blake2b(name.encode(errors="surrogatepass"), digest_size=16).digest()
    return np.frombuffer(digests, DIGEST)
