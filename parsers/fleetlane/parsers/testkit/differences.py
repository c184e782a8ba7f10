"""Two parsers compared on the same message: event by event, field by field."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

from fleetlane.parsers.testkit.trials import Outcome

type _Event = Mapping[str, object]

ALIGNED_EVENTS_MAX = 2_000
"""Of more events than that, those at the same place are compared."""


class Kind(StrEnum):
    """How the new parser's result of a message differs from the old one's."""

    SAME = "same"
    CHANGED = "changed"
    REFUSED_OTHERWISE = "refused otherwise"
    NOW_REFUSED = "now refused"
    NOW_PARSED = "now parsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field by its dotted path; values as JSON, ``(nothing)`` where it is not there."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChange:
    """An event that differs, by its place. Only in one: the other place is ``None``."""

    old_place: int | None
    new_place: int | None
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What two parsers make of one message. ``old`` and ``new`` describe refused ones."""

    kind: Kind
    events: tuple[EventChange, ...] = ()
    old: str = ""
    new: str = ""


def difference(old: Outcome, new: Outcome) -> Difference:
    before, now = str(old), str(new)
    if old.reason is None and new.reason is None:
        changes = tuple(_event_changes(old.data, new.data))
        return Difference(kind=Kind.CHANGED if changes else Kind.SAME, events=changes)
    if old.reason is None:
        return Difference(kind=Kind.NOW_REFUSED, old=before, new=now)
    if new.reason is None:
        return Difference(kind=Kind.NOW_PARSED, old=before, new=now)
    kind = Kind.SAME if before == now else Kind.REFUSED_OTHERWISE
    return Difference(kind=kind, old=before, new=now)


def changed_fields(old: _Event, new: _Event, within: str = "") -> Iterator[FieldChange]:
    """All fields that differ, those inside of objects too, in the old one's order."""
    for name in {**old, **new}:
        path = f"{within}{name}"
        before, now = old.get(name, _NOTHING), new.get(name, _NOTHING)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            yield from changed_fields(before, now, f"{path}.")
        elif (shown := (_text(before), _text(now)))[0] != shown[1]:
            yield FieldChange(path=path, old=shown[0], new=shown[1])


def _event_changes(old: Sequence[_Event], new: Sequence[_Event]) -> Iterator[EventChange]:
    for old_places, new_places in _unequal(old, new):
        for before, now in zip_longest(old_places, new_places):
            if before is None or now is None:
                yield EventChange(old_place=before, new_place=now)
            elif fields := tuple(changed_fields(old[before], new[now])):
                yield EventChange(old_place=before, new_place=now, fields=fields)


def _unequal(old: Sequence[_Event], new: Sequence[_Event]) -> Iterator[tuple[range, range]]:
    """Stretches of events that are not equal: their places in both."""
    if len(old) == len(new) or max(len(old), len(new)) > ALIGNED_EVENTS_MAX:
        yield range(len(old)), range(len(new))
        return
    before, now = ([_text(event) for event in events] for events in (old, new))
    for tag, *stretch in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag != "equal":
            yield range(stretch[0], stretch[1]), range(stretch[2], stretch[3])


NOTHING = "(nothing)"
_NOTHING = object()


def _text(value: object) -> str:
    return NOTHING if value is _NOTHING else json.dumps(value, sort_keys=True)
