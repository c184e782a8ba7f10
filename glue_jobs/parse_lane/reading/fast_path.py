"""Messages whose envelope is as ingest writes it, read by column: a whole batch at once.

What is read here is exactly what ``envelope_reading.message_from`` would read. All other messages -
by reference, encoded, with repeated or unknown headers or with values that are not allowed - take
the slow path to that function, which knows why.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fleetlane.events import headers as ce
from fleetlane.events.envelope import SOURCE_PREFIX
from fleetlane.events.envelope_reading import is_allowed_value
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.names import DEVICE_ID_PATTERN, RAW_ID_PATTERN
from fleetlane.events.times import MILLIS_MAX
from glue_jobs.parse_lane.reading.raw_batches import RawBatch

type Rows = NDArray[np.int64]
type Flags = NDArray[np.bool_]

_NUMBER: Final = "[0-9]{1,18}"
_PATTERNS: Final[Mapping[str, str]] = {
    ce.ID: RAW_ID_PATTERN,
    ce.SOURCE: SOURCE_PREFIX + DEVICE_ID_PATTERN,
    ce.ARRIVAL_MILLIS: _NUMBER,
    ce.BODY_BYTES: _NUMBER,
    ce.START_MILLIS: _NUMBER,
    ce.END_MILLIS: _NUMBER,
}
"""Headers that differ from message to message; the others repeat, and each value is read once."""

_KIND: Final = (ce.TYPE, ce.DEVICE_TYPE, ce.FIRMWARE, ce.BULK_CAUSE)
_REPEATING: Final = frozenset({
    *_KIND, ce.ATTRIBUTES, ce.SPECVERSION, ce.CONTENT_TYPE, ce.LANE, ce.ATTEMPT, ce.SLOW_TRIES,
    ce.VIA,
})  # fmt: skip
_NEVER_READ: Final = ce.TIME
_REQUIRED: Final = (
    ce.SPECVERSION, ce.ID, ce.SOURCE, ce.TYPE, ce.ARRIVAL_MILLIS, ce.LANE, ce.ATTEMPT, ce.BODY_BYTES
)  # fmt: skip
BY_COLUMN_MIN: Final = 24
"""Of so many records on it is the quicker way: what is done to a column costs the same for one."""

_is_allowed: Final = lru_cache(maxsize=4096)(is_allowed_value)


@dataclass(frozen=True, kw_only=True)
class FastPathMessages:
    """``is_fast`` marks these rows of the batch; in the others the columns mean nothing.

    ``columns`` are the headers' values by name, a row each.
    """

    is_fast: Flags
    columns: Mapping[str, pa.Array]

    @cached_property
    def device_ids(self) -> pa.Array:
        sources = self.columns[ce.SOURCE].cast(pa.string())
        return pc.utf8_slice_codeunits(sources, len(SOURCE_PREFIX)).cast(pa.binary())

    @cached_property
    def envelopes(self) -> pa.Array:
        """As ``sandbox.runs.envelope_of`` writes them."""
        raw_ids, arrivals = self.columns[ce.ID], self.columns[ce.ARRIVAL_MILLIS]
        absent = pa.scalar(b"", pa.binary())
        known = [
            self.columns.get(one, absent) for one in (ce.DEVICE_TYPE, ce.ATTRIBUTES, ce.FIRMWARE)
        ]
        parts = raw_ids, self.device_ids, arrivals, pa.scalar(b"0", pa.binary()), *known
        separator = pa.scalar(b"\n", pa.binary())
        return pc.binary_join_element_wise(
            *parts, separator, null_handling="replace", null_replacement=""
        )

    def kinds(self, flows: Callable[[], FlowSet]) -> Iterator[Rows]:
        """The rows of each kind of messages: all that a choice of their parser may look at."""
        for rows in self._alike():
            flow = flows().get(self.columns[ce.TYPE][rows[0]].as_py().decode())
            if flow is None or not flow.has_canaries:
                yield rows
                continue
            parts = defaultdict[tuple[int, ...], list[int]](list)
            device_ids = self.device_ids.take(pa.array(rows)).to_pylist()
            for row, device_id in zip(rows.tolist(), device_ids, strict=True):
                parts[flow.canaries_for(device_id.decode())].append(row)
            yield from map(np.array, parts.values())

    def _alike(self) -> Iterator[Rows]:
        """The rows by their values of ``_KIND``."""
        rows = np.flatnonzero(self.is_fast)
        # One number for each combination of values: the codes of the columns as digits, each to the
        # base of how many values its column has. A batch is mostly of one kind, so that is tried
        # before sorting.
        kinds = np.zeros(len(self.is_fast), np.int64)
        for name in _KIND:
            column = self.columns.get(name)
            if column is not None:
                encoded = column.dictionary_encode(null_encoding="encode")
                kinds = kinds * len(encoded.dictionary) + encoded.indices.to_numpy()
        kinds = kinds[rows]
        if len(rows) and (kinds == kinds[0]).all():
            yield rows
            return
        for kind in np.unique(kinds):
            yield rows[kinds == kind]


def no_fast_path(batch: RawBatch) -> FastPathMessages:
    return FastPathMessages(is_fast=np.zeros(len(batch), np.bool_), columns={})


def fast_path_messages(batch: RawBatch) -> FastPathMessages:
    columns, is_fast = _columns(batch)
    for name, column in columns.items():
        is_fast &= _is_good(name, column)
    for name in _REQUIRED:
        is_fast &= _flags(columns[name].is_valid()) if name in columns else np.False_
    if is_fast.any():
        # Values that are refused become null before a cast, which would fail on one that is no
        # number, and afterwards too, so that no later step reads a value of the slow path.
        columns = {name: _only(is_fast, column) for name, column in columns.items()}
        sizes = pc.binary_length(batch.column("value")).cast(pa.int64())
        is_fast &= _flags(pc.equal(columns[ce.BODY_BYTES].cast(pa.int64()), sizes))
        arrivals_ms = columns[ce.ARRIVAL_MILLIS].cast(pa.int64())
        is_fast &= _flags(pc.less_equal(arrivals_ms, MILLIS_MAX))
        columns = {name: _only(is_fast, column) for name, column in columns.items()}
    return FastPathMessages(is_fast=is_fast, columns=columns)


def _columns(batch: RawBatch) -> tuple[dict[str, pa.Array], Flags]:
    """The values of each header that is known here, and which rows have such headers alone."""
    headers, is_fast = batch.column("headers"), np.ones(len(batch), np.bool_)
    flat = headers.flatten()
    names, values = flat.field("key"), flat.field("value")
    if names.null_count or values.null_count:
        return {}, np.zeros(len(batch), np.bool_)
    encoded, owners = names.dictionary_encode(), pc.list_parent_indices(headers).to_numpy()
    codes = encoded.indices.to_numpy()
    columns = dict[str, pa.Array]()
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        places = np.flatnonzero(codes == code)  # in the batch's flattened headers
        rows = owners[places]
        if name in _REPEATING or name in _PATTERNS:
            # Scattered into a column with a row each; -1, where the header is absent, is null.
            where = np.full(len(batch), -1)
            where[rows] = places
            columns[name] = values.take(pa.array(where, mask=where < 0))
        elif name != _NEVER_READ:
            is_fast[rows] = False
        # Rows are ascending, so a header that a record repeats has its row twice in succession.
        is_fast[rows[1:][rows[1:] == rows[:-1]]] = False
    return columns, is_fast


def _is_good(name: str, column: pa.Array) -> Flags:
    """Whether each value is allowed; one that is absent is."""
    pattern = _PATTERNS.get(name)
    if pattern is not None:
        return _flags(pc.match_substring_regex(column, f"^(?:{pattern})$"), absent=True)
    encoded = column.dictionary_encode()  # each distinct value is checked once
    allowed = [_is_allowed(name, value) for value in encoded.dictionary.to_pylist()]
    if all(allowed):
        return np.ones(len(column), np.bool_)
    return _flags(pa.array(allowed).take(encoded.indices), absent=True)


def _only(rows: Flags, column: pa.Array) -> pa.Array:
    return column if rows.all() else pc.if_else(pa.array(rows), column, None)


def _flags(column: pa.Array, *, absent: bool = False) -> Flags:
    flags: Flags = column.fill_null(absent).to_numpy(zero_copy_only=False)
    return flags
