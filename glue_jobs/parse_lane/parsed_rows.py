"""Rows for ``fleet.parsed`` of many messages at once: all that were parsed as they should be."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.parsers.sandbox.notes import NO_TIME
from glue_jobs.parse_lane.good_attempts import GoodAttempts
from glue_jobs.parse_lane.output_batches import ParsedRows
from glue_jobs.parse_lane.waiting_messages import WaitingRun

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
)


def parsed_rows(run: WaitingRun, good: GoodAttempts, same: Parsed) -> ParsedRows:
    """Tell of messages of a run that were parsed; ``same`` is what their rows have in common."""
    rows = pa.array(run.rows[good.places])
    plain, batch = run.plain, run.batch
    events, parse_us, first_ms, last_ms = good.numbers
    outcomes = pc.if_else(pa.array(events > 0), Outcome.PARSED.value, Outcome.EMPTY.value)
    keys = plain.device_ids.take(rows)
    gaps = {
        "id": plain.columns["ce_id"].take(rows),
        "device_id": keys,
        "source_topic": batch.column("topic").take(rows),
        "outcome": outcomes,
        "attempt": plain.attempts.take(rows),
        "source_partition": batch.column("partition").take(rows),
        "source_offset": batch.column("offset").take(rows),
        "received_ms": plain.columns["ce_arrivalmillis"].take(rows).cast(pa.int64()),
        "events": pa.array(events),
        "parse_us": pa.array(parse_us),
        "inflated_bytes": pc.binary_length(batch.column("value").take(rows)),
        "first_event_ms": pa.array(first_ms, mask=first_ms == NO_TIME),
        "last_event_ms": pa.array(last_ms, mask=last_ms == NO_TIME),
    }
    return ParsedRows(keys=keys, values=_filled(_pieces(same), gaps))


def row_with_gaps(run: WaitingRun, *, lane: Lane, now_ms: int) -> Parsed:
    """What the rows of a run have in common; the rest is not looked at."""
    assignment = run.chosen.assignment
    return Parsed(
        instead_of=run.chosen.instead_of,
        id="",
        attempt=0,
        device_id="",
        stream=assignment.flow.stream,
        lane=lane,
        source_topic="",
        source_partition=0,
        source_offset=0,
        outcome=Outcome.PARSED,
        parser=assignment.parser,
        parsed_ms=now_ms,
    )


def _pieces(same: Parsed) -> list[str]:
    """``same`` as it is written, taken apart where it differs: text, a gap's name, text, …."""
    texts = {name: f"<{name}>" for name in _TEXT_GAPS}
    numbers = {name: f"<#{name}>" for name in _NUMBER_GAPS}
    marked: dict[str, Any] = {**texts, **numbers}
    written = parsed_value(replace(same, **marked)).decode()
    return [piece for piece in _GAP.split(written) if piece is not None]


def _filled(pieces: list[str], gaps: Mapping[str, pa.Array]) -> pa.Array:
    parts = [
        _text(gaps[piece]) if number % 2 else pa.scalar(piece.encode(), pa.binary())
        for number, piece in enumerate(pieces)
    ]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column.cast(pa.string()).fill_null("null").cast(pa.binary())
    return column.cast(pa.binary())
