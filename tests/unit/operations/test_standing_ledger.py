"""The standing ledger's balance, and when it covers what was accepted."""

import pytest

from operations.fleet.questions import Row
from operations.ledger.standing import StandingLedger


def hour(*, parsed: int = 0, parked: int = 0, waiting: int = 0, accepted: int | None = 10) -> Row:
    return {
        "hour_ms": 0,
        "stream": "gps",
        "lane": "standard",
        "accepted": accepted,
        "landed": 10,
        "parsed": parsed,
        "empty": 0,
        "parked": parked,
        "duplicate": 2,
        "waiting": waiting,
        "missing": 0,
        "not_landed": 0,
        "is_settled": False,
        "checked_ms": 0,
    }


@pytest.mark.parametrize(
    ("hours", "covers"),
    [
        ([hour(parsed=6), hour(parked=4)], True),
        ([hour(parsed=6), hour(parked=3)], False),
        ([hour(parsed=10, waiting=1)], False),
        ([], False),
    ],
    ids=["all", "too-few", "one-waits", "nothing-yet"],
)
def test_it_covers_messages_once_they_have_outcomes_and_none_waits(
    hours: list[Row],
    covers: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    ledger = StandingLedger(hours=hours, missing=())

    assert ledger.covers(10) is covers


def test_its_line_is_the_sum_of_all_hours() -> None:
    ledger = StandingLedger(hours=[hour(parsed=6), hour(parked=4, accepted=None)], missing=())

    assert ledger.line() == (
        "standing ledger: accepted=10 landed=20 parsed=6 empty=0 parked=4 duplicate=4"
        " waiting=0 missing=0 not_landed=0"
    )
