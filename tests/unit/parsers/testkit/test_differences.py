"""What two versions of a parser make of one message."""

from typing import Any

import pytest

from fleetlane.parsers.testkit.differences import (
    Difference,
    EventChange,
    FieldChange,
    Kind,
    changed_fields,
    difference,
)
from fleetlane.parsers.testkit.trials import Outcome, TrialEvent


def parsed(*events: dict[str, Any]) -> Outcome:
    return Outcome(
        reason=None,
        detail="",
        parse_us=1,
        events=tuple(
            TrialEvent(topic="t", key="k", time=None, time_quality="missing", data=event)
            for event in events
        ),
    )


def refused(detail: str, reason: str = "malformed") -> Outcome:
    return Outcome(reason=reason, detail=detail, parse_us=1)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (parsed(), parsed(), Kind.SAME),
        (parsed({"a": 1}), parsed({"a": 1}), Kind.SAME),
        (parsed({"a": 1, "b": 2}), parsed({"b": 2, "a": 1}), Kind.SAME),
        (parsed({"a": 1}), parsed({"a": 2}), Kind.CHANGED),
        (parsed({"a": 1}), parsed({"a": 1.0}), Kind.CHANGED),
        (parsed({"a": 1}), parsed({"a": True}), Kind.CHANGED),
        (parsed({"a": 1}), parsed(), Kind.CHANGED),
        (parsed({"a": 1}), refused("no"), Kind.NOW_REFUSED),
        (refused("no"), parsed(), Kind.NOW_PARSED),
        (refused("no"), refused("no"), Kind.SAME),
        (refused("no"), refused("never"), Kind.REFUSED_OTHERWISE),
        (refused("no"), refused("no", "timeout"), Kind.REFUSED_OTHERWISE),
    ],
)
def test_each_kind_is_distinguished(old: Outcome, new: Outcome, kind: Kind) -> None:
    assert difference(old, new).kind is kind


def test_a_changed_field_is_named_by_its_path() -> None:
    fields = list(
        changed_fields(
            {"at": 1, "gps": {"lat": 1, "lon": 2}, "gone": None},
            {"at": 1, "gps": {"lat": 1, "lon": 3}, "new": "x"},
        )
    )

    assert fields == [
        FieldChange(path="gps.lon", old="2", new="3"),
        FieldChange(path="gone", old="null", new="(nothing)"),
        FieldChange(path="new", old="(nothing)", new='"x"'),
    ]


def test_an_event_that_is_new_does_not_change_those_behind_it() -> None:
    old, new = parsed({"n": 1}, {"n": 2}), parsed({"n": 0}, {"n": 1}, {"n": 2})

    found = difference(old, new)

    assert found == Difference(
        kind=Kind.CHANGED, events=(EventChange(old_place=None, new_place=0),)
    )


def test_an_event_that_is_gone_is_named_by_its_old_place() -> None:
    found = difference(parsed({"n": 1}, {"n": 2}, {"n": 3}), parsed({"n": 1}, {"n": 3}))

    assert found.events == (EventChange(old_place=1, new_place=None),)


def test_a_refusal_is_reported_with_both_sides() -> None:
    found = difference(parsed({"n": 1}), refused("3 bytes; 6 are needed"))

    assert (found.old, found.new) == ("1 event", "malformed: 3 bytes; 6 are needed")
