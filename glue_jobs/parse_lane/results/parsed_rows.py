"""Rows for ``fleet.parsed`` of all messages that were parsed without an error, column by column.

The JSON of a row is written once for each run, by the encoder that writes single rows, with a mark
where messages differ. Cut at its marks, it is the constant text between columns, and one string
join makes all rows: neither a Python object nor a call of the encoder for each message. No value
needs JSON's escapes, because the fast path admits ids by patterns that have none of these
characters, and topics are named by us.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fleetlane.events import headers as ce
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.events.topics import FLEET_PARSED
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.results import NO_TIME, Attempt, NotedAttempts, Verdict
from glue_jobs.parse_lane.reading.fast_path import Rows
from glue_jobs.parse_lane.reading.runs import WaitingRun
from glue_jobs.parse_lane.results.output_batches import headerless_batch

_FLOWS_KEPT_MAX: Final = 1_000
_GAP: Final = re.compile(r"<(\w+)>|\"<#(\w+)>\"")
_SHARED: Final = ("stream", "lane", "parser", "instead_of", "revision", "reason", "put_off")
"""Fields that are alike in all rows of a run; there is a gap for each of the others."""


class ParsedBatch(NamedTuple):
    """Messages of one run that were parsed without an error, by ``places`` in it, and when.

    ``numbers``: events, parse time in µs, first and last event in ms, bytes of its events.
    """

    run: WaitingRun
    places: Rows
    numbers: Sequence[NDArray[np.int64]]
    parsed_ms: int


def good_and_others(
    attempts: NotedAttempts, records: CanonicalRecords, run: WaitingRun, *, parsed_ms: int
) -> tuple[ParsedBatch | None, list[tuple[int, Attempt]]]:
    """Part the attempts of the fast path that succeeded, if any, from all others."""
    notes = attempts.notes
    if len(run.slow) == len(run.rows):  # of a few: an array would cost more than it saves
        record_ends = [records.value_ends[n] for n in accumulate(notes.events, initial=0)]
        sizes = [end - begin for begin, end in pairwise(record_ends)]
        return None, [
            (place, attempt._replace(output_bytes=sizes[place - attempts.first]))
            for place, attempt in attempts
        ]
    is_good = np.frombuffer(notes.verdicts, np.uint8) == Verdict.OK
    ends = np.asarray(records.value_ends)[np.cumsum(notes.events)]
    output_bytes, others = np.diff(ends, prepend=0), attempts.failed()
    if run.slow:
        rows = run.rows[attempts.first : attempts.first + len(is_good)]
        is_slow_path = is_good & np.isin(rows, list(run.slow))
        slow_places = set((attempts.first + np.flatnonzero(is_slow_path)).tolist())
        others += [
            (place, attempt._replace(output_bytes=int(output_bytes[place - attempts.first])))
            for place, attempt in attempts
            if place in slow_places
        ]
        is_good &= ~is_slow_path
    if not is_good.any():
        return None, others
    columns = (*notes[1:], output_bytes)
    numbers = [np.asarray(column)[is_good].astype(np.int64) for column in columns]
    places = attempts.first + np.flatnonzero(is_good)
    return ParsedBatch(run, places, numbers, parsed_ms), others


def parsed_rows(batches: Sequence[ParsedBatch], *, lane: Lane) -> pa.RecordBatch:
    """The rows of messages of one raw batch, in any number of runs; at least one message."""
    rows = pa.array(np.concatenate([one.run.rows[one.places] for one in batches]))
    lengths = [len(one.places) for one in batches]
    fast, batch = batches[0].run.fast, batches[0].run.batch
    columns = zip(*(one.numbers for one in batches), strict=True)
    events, parse_us, first_ms, last_ms, output_bytes = map(np.concatenate, columns)
    outcomes = pc.if_else(pa.array(events > 0), Outcome.PARSED.value, Outcome.EMPTY.value)
    keys = fast.device_ids.take(rows)
    gaps = {
        "id": fast.columns[ce.ID].take(rows),
        "device_id": keys,
        "source_topic": batch.column("topic").take(rows),
        "outcome": outcomes,
        "attempt": fast.columns[ce.ATTEMPT].take(rows).cast(pa.int64()),
        "source_partition": batch.column("partition").take(rows),
        "source_offset": batch.column("offset").take(rows),
        "received_ms": fast.columns[ce.ARRIVAL_MILLIS].take(rows).cast(pa.int64()),
        "parsed_ms": pa.array(np.repeat([one.parsed_ms for one in batches], lengths)),
        "events": pa.array(events),
        "parse_us": pa.array(parse_us),
        "inflated_bytes": pc.binary_length(batch.column("value").take(rows)),
        "output_bytes": pa.array(output_bytes),
        "first_event_ms": pa.array(first_ms, mask=first_ms == NO_TIME),
        "last_event_ms": pa.array(last_ms, mask=last_ms == NO_TIME),
    }
    chosen = [(one.run.chosen.assignment, one.run.chosen.instead_of) for one in batches]
    pieces = [_pieces(by.flow.stream, lane, by.parser, before) for by, before in chosen]
    numbers = pa.array(np.repeat(np.arange(len(batches)), lengths))
    topics = pa.repeat(FLEET_PARSED, len(rows))
    return headerless_batch(topics, keys, _filled(pieces, numbers, gaps))


@lru_cache(_FLOWS_KEPT_MAX)
def _pieces(stream: str, lane: Lane, parser: str, instead_of: str | None) -> tuple[str, ...]:
    """The JSON that all rows of a run share: text, the name of a gap, text, ….

    A mark is a string, and is cut out of its quotes; that of a number is cut out with them.
    """
    marks: dict[str, Any] = {
        one.name: f"<{one.name}>" if one.type in (str, Outcome) else f"<#{one.name}>"
        for one in fields(Parsed)
        if one.name not in _SHARED
    }
    row = Parsed(stream=stream, lane=lane, parser=parser, instead_of=instead_of, **marks)
    written = parsed_value(row).decode()
    return tuple(piece for piece in _GAP.split(written) if piece is not None)


def _filled(
    pieces: Sequence[Sequence[str]], numbers: pa.Array, gaps: Mapping[str, pa.Array]
) -> pa.Array:
    """Fill the gaps; ``numbers`` has, for each row, the index of its pieces."""
    parts = [
        _text(gaps[same[0]]) if place % 2 else _common(same, numbers)
        for place, same in enumerate(zip(*pieces, strict=True))
    ]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))


def _common(texts: Sequence[str], numbers: pa.Array) -> pa.Array | pa.Scalar:
    if len(set(texts)) == 1:
        return pa.scalar(texts[0].encode(), pa.binary())
    return pa.array([text.encode() for text in texts], pa.binary()).take(numbers)


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column.cast(pa.string()).fill_null("null").cast(pa.binary())
    return column.cast(pa.binary())
