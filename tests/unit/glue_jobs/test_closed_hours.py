"""Which hours of the lake are over, and the days that are counted for them."""

from datetime import date
from typing import Final

from fleetlane.events.times import DAY_MS, HOUR_MS
from glue_jobs.lake.summaries import SETTLED_AFTER_MS, UncountedDays, closed_hour_ms

MIDNIGHT_MS: Final = 20_000 * DAY_MS
"""2024-10-04T00:00:00Z."""


def test_an_hour_is_over_once_a_batch_comes_some_minutes_past_it() -> None:
    assert closed_hour_ms(MIDNIGHT_MS + SETTLED_AFTER_MS) == MIDNIGHT_MS - HOUR_MS
    assert closed_hour_ms(MIDNIGHT_MS + SETTLED_AFTER_MS - 1) == MIDNIGHT_MS - 2 * HOUR_MS


def test_a_batch_without_arrivals_closes_no_hour() -> None:
    assert closed_hour_ms(0) < 0


def test_the_last_hour_of_a_day_is_counted_after_midnight() -> None:
    days = UncountedDays().due([date(2024, 10, 4)], closed_ms=MIDNIGHT_MS - HOUR_MS)

    assert days == [date(2024, 10, 3)]


def test_days_that_a_batch_touched_before_are_counted_too() -> None:
    days = UncountedDays().due([date(2024, 9, 1), date(2024, 10, 4)], closed_ms=MIDNIGHT_MS)

    assert days == [date(2024, 9, 1), date(2024, 10, 4)]


def test_what_a_batch_touched_between_two_hours_is_counted_with_the_next_and_once() -> None:
    uncounted = UncountedDays()
    uncounted.due([date(2024, 10, 4)], closed_ms=MIDNIGHT_MS)

    between = uncounted.due([date(2024, 9, 1)], closed_ms=MIDNIGHT_MS)
    due = uncounted.due([date(2024, 10, 4)], closed_ms=MIDNIGHT_MS + HOUR_MS)
    next_due = uncounted.due([], closed_ms=MIDNIGHT_MS + 2 * HOUR_MS)

    assert between == []
    assert due == [date(2024, 9, 1), date(2024, 10, 4)]
    assert next_due == [date(2024, 10, 4)]


def test_a_day_whose_last_hours_were_followed_by_silence_past_midnight_is_counted() -> None:
    uncounted = UncountedDays()
    uncounted.due([date(2024, 10, 3)], closed_ms=MIDNIGHT_MS - 3 * HOUR_MS)

    due = uncounted.due([date(2024, 10, 4)], closed_ms=MIDNIGHT_MS)

    assert due == [date(2024, 10, 3), date(2024, 10, 4)]
