"""Which hours of the lake are over."""

from typing import Final

from fleetlane.events.times import DAY_MS, HOUR_MS
from glue_jobs.lake.summaries import SETTLED_AFTER_MS, closed_hour_ms

MIDNIGHT_MS: Final = 20_000 * DAY_MS
"""2024-10-04T00:00:00Z."""


def test_an_hour_is_over_once_a_batch_comes_some_minutes_past_it() -> None:
    assert closed_hour_ms(MIDNIGHT_MS + SETTLED_AFTER_MS) == MIDNIGHT_MS - HOUR_MS
    assert closed_hour_ms(MIDNIGHT_MS + SETTLED_AFTER_MS - 1) == MIDNIGHT_MS - 2 * HOUR_MS


def test_a_batch_without_arrivals_closes_no_hour() -> None:
    assert closed_hour_ms(0) < 0
