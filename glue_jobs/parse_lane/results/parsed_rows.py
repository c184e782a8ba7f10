"""Rows for ``fleet.parsed`` of many messages at once: all that were parsed as they should be."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fleetlane.events import headers as ce
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.parsers.sandbox.results import NO_TIME
from glue_jobs.parse_lane.reading.runs import WaitingRun
from glue_jobs.parse_lane.results.output_batches import ParsedRows
from glue_jobs.parse_lane.results.successes import GoodAttempts

_FLOWS_KEPT_MAX: Final = 1_000
_GAP: Final = re.compile(r"<(\w+)>|\"<#(\w+)>\"")
_TEXT_GAPS: Final = ("id", "device_id", "source_topic", "outcome")
_NUMBER_GAPS: Final = (
    "attempt",
    "source_partition",
    "source_offset",
    "events",
    "parse_us",
    "inflated_bytes",
    "first_event_ms",
    "last_event_ms",
    "received_ms",
    "parsed_ms",
)
_NO_MESSAGE: Final = Parsed(
    id="",
    attempt=0,
    device_id="",
    stream="",
    lane=Lane.STANDARD,
    source_topic="",
    source_partition=0,
    source_offset=0,
    outcome=Outcome.PARSED,
    parsed_ms=0,
)
"""What the rows of a run have in common is put into it; the rest is not looked at."""


class ParsedBatch(NamedTuple):
    """Messages of a run that were parsed, and when."""

    run: WaitingRun
    good: GoodAttempts
    parsed_ms: int


def parsed_rows(told: Sequence[ParsedBatch], *, lane: Lane) -> ParsedRows:
    """Tell of messages of one batch, in as many runs as there are; at least one message."""
    rows = pa.array(np.concatenate([one.run.rows[one.good.places] for one in told]))
    lengths = [len(one.good.places) for one in told]
    plain, batch = told[0].run.plain, told[0].run.batch
    columns = zip(*(one.good.numbers for one in told), strict=True)
    events, parse_us, first_ms, last_ms = map(np.concatenate, columns)
    outcomes = pc.if_else(pa.array(events > 0), Outcome.PARSED.value, Outcome.EMPTY.value)
    keys = plain.device_ids.take(rows)
    gaps = {
        "id": plain.columns[ce.ID].take(rows),
        "device_id": keys,
        "source_topic": batch.column("topic").take(rows),
        "outcome": outcomes,
        "attempt": plain.attempts.take(rows),
        "source_partition": batch.column("partition").take(rows),
        "source_offset": batch.column("offset").take(rows),
        "received_ms": plain.columns[ce.ARRIVAL_MILLIS].take(rows).cast(pa.int64()),
        "parsed_ms": pa.array(np.repeat([one.parsed_ms for one in told], lengths)),
        "events": pa.array(events),
        "parse_us": pa.array(parse_us),
        "inflated_bytes": pc.binary_length(batch.column("value").take(rows)),
        "first_event_ms": pa.array(first_ms, mask=first_ms == NO_TIME),
        "last_event_ms": pa.array(last_ms, mask=last_ms == NO_TIME),
    }
    pieces = [_pieces_of(one.run, lane) for one in told]
    numbers = pa.array(np.repeat(np.arange(len(told)), lengths))
    return ParsedRows(keys=keys, values=_filled(pieces, numbers, gaps))


def _pieces_of(run: WaitingRun, lane: Lane) -> tuple[str, ...]:
    assignment = run.chosen.assignment
    return _pieces(assignment.flow.stream, lane, assignment.parser, run.chosen.instead_of)


@lru_cache(_FLOWS_KEPT_MAX)
def _pieces(stream: str, lane: Lane, parser: str, instead_of: str | None) -> tuple[str, ...]:
    """What all rows of a run have in common, as written: text, a gap's name, text, …."""
    texts = {name: f"<{name}>" for name in _TEXT_GAPS}
    numbers = {name: f"<#{name}>" for name in _NUMBER_GAPS}
    marked: dict[str, Any] = {**texts, **numbers}
    same = replace(_NO_MESSAGE, stream=stream, lane=lane, parser=parser, instead_of=instead_of)
    written = parsed_value(replace(same, **marked)).decode()
    return tuple(piece for piece in _GAP.split(written) if piece is not None)


def _filled(
    pieces: Sequence[Sequence[str]], numbers: pa.Array, gaps: Mapping[str, pa.Array]
) -> pa.Array:
    """Fill the gaps; ``numbers`` tells for each row whose pieces it is made of."""
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
