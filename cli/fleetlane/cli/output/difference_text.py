"""Differences of two parsers, for people."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from fleetlane.cli.output.counting import number_of
from fleetlane.cli.output.outcome_text import printable
from fleetlane.parsers.testkit.differences import Difference, EventChange, Kind

CHANGES_SHOWN_MAX: Final = 5


def difference_line(name: str, found: Difference) -> str:
    """A line for a message: what has become of it and, where it changed, the first few changes."""
    head = f"{name}: {found.kind}"
    match found.kind:
        case Kind.SAME:
            return printable(head)
        case Kind.CHANGED:
            changes = [text for change in found.events for text in _changes(change)]
            more = len(changes) - CHANGES_SHOWN_MAX
            rest = [f"and {more} more: --json shows them all"] if more > 0 else []
            return printable(f"{head}: {'; '.join(changes[:CHANGES_SHOWN_MAX] + rest)}")
        case Kind.NOW_PARSED | Kind.NOW_REFUSED | Kind.REFUSED_OTHERWISE:
            return printable(f"{head}: {found.old} -> {found.new}")


def counts_of(found: Mapping[str, Difference]) -> dict[str, int]:
    """How many messages there are of each kind."""
    counts = Counter(one.kind for one in found.values())
    return {str(kind): counts[kind] for kind in Kind}


def summary_line(found: Mapping[str, Difference]) -> str:
    counts = counts_of(found)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{number_of(len(found), 'message')}: {kinds or 'none to compare'}"


def _changes(change: EventChange) -> Iterator[str]:
    if change.old_place is None:
        yield f"event {change.new_place} only in the new"
    elif change.new_place is None:
        yield f"event {change.old_place} only in the old"
    for field in change.fields:
        yield f"event {change.old_place}: {field.path} {field.old} -> {field.new}"
