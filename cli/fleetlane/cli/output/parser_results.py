"""What parsers made of messages, for people: events of one, and differences between two."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import typer

from fleetlane.cli.output.tables import escaped, print_table
from fleetlane.cli.output.waiting import number_of
from fleetlane.parsers.testkit.differences import Difference, EventChange, Kind
from fleetlane.parsers.testkit.parser_process import has_sandbox
from fleetlane.parsers.testkit.trials import Outcome, Subject, TrialEvent

ROWS_MAX: Final = 50
_COLUMNS_MAX: Final = 8


def print_outcome(outcome: Outcome, subject: Subject) -> None:
    """Print a parsed message's events. No control character of a device's reaches the terminal."""
    columns = _columns(outcome.events)
    rows = [
        (str(number), _time(event), *_cells(event, columns))
        for number, event in enumerate(outcome.events[:ROWS_MAX])
    ]
    if rows:
        print_table(("#", "time", *columns), rows)
    more = len(outcome.events) - ROWS_MAX
    if more > 0:
        typer.echo(f"… {number_of(more, 'more event')}: --json shows them all")
    typer.echo(_summary(outcome, subject))


def enforcement() -> str:
    """A note where the jobs' sandbox is not available."""
    return "" if has_sandbox() else "; this system has no sandbox: limits are not all enforced"


def _columns(events: Sequence[TrialEvent]) -> list[str]:
    """A column a field; one for all where there are too many."""
    names = list(dict.fromkeys(name for event in events for name in event.data))
    return names if len(names) <= _COLUMNS_MAX else ["event"]


def _cells(event: TrialEvent, columns: Sequence[str]) -> list[str]:
    if columns == ["event"] and "event" not in event.data:
        return [_json(event.data)]
    return [_json(event.data[name]) if name in event.data else "" for name in columns]


def _json(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def _time(event: TrialEvent) -> str:
    time = event.time or "-"
    return time if event.time_quality == "ok" else f"{time} ({event.time_quality})"


def _summary(outcome: Outcome, subject: Subject) -> str:
    size_bytes = sum(len(json.dumps(event.data).encode()) for event in outcome.events)
    events = number_of(len(outcome.events), "event")
    return (
        f"{subject.identifier}: {events}, {size_bytes} bytes of JSON, "
        f"in {outcome.parse_us / 1000:.2f} ms; the {subject.lane} lane allows "
        f"{subject.limit_ms} ms{enforcement()}"
    )


CHANGES_SHOWN_MAX: Final = 5


def difference_line(name: str, found: Difference) -> str:
    """A line for a message: what has become of it and, where it changed, the first few changes."""
    head = f"{name}: {found.kind}"
    match found.kind:
        case Kind.SAME:
            return escaped(f"{head}, both refuse: {found.old}" if found.old else head)
        case Kind.CHANGED:
            changes = [text for change in found.events for text in _changes(change)]
            more = len(changes) - CHANGES_SHOWN_MAX
            rest = [f"and {more} more: --json shows them all"] if more > 0 else []
            return escaped(f"{head}: {'; '.join(changes[:CHANGES_SHOWN_MAX] + rest)}")
        case Kind.NOW_PARSED | Kind.NOW_REFUSED | Kind.REFUSED_OTHERWISE:
            return escaped(f"{head}: {found.old} -> {found.new}")


def counts_of(found: Mapping[str, Difference]) -> dict[str, int]:
    counts = Counter(one.kind for one in found.values())
    return {str(kind): counts[kind] for kind in Kind}


def both_refuse(found: Mapping[str, Difference]) -> int:
    """How many messages neither parser takes, for whatever reasons."""
    refused = (Kind.SAME, Kind.REFUSED_OTHERWISE)
    return sum(one.kind in refused and one.old != "" for one in found.values())


def summary_line(found: Mapping[str, Difference]) -> str:
    counts, refused = counts_of(found), both_refuse(found)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    rest = f"; both refuse {refused}" if refused else ""
    return f"{number_of(len(found), 'message')}: {kinds or 'none to compare'}{rest}"


def _changes(change: EventChange) -> Iterator[str]:
    if change.old_place is None:
        yield f"event {change.new_place} only in the new"
    elif change.new_place is None:
        yield f"event {change.old_place} only in the old"
    for field in change.fields:
        yield f"event {change.old_place}: {field.path} {field.old} -> {field.new}"
