"""The days whose events the standing ledger reads, whatever times a parser gave them."""

from datetime import date

import pytest

from fleetlane.events.times import DAY_MS
from glue_jobs.standing_ledger.lake_tables import nearest_day


@pytest.mark.parametrize(
    ("millis", "day"), [(DAY_MS, date(1970, 1, 2)), (1 << 61, date.max), (-(1 << 61), date.min)]
)
def test_a_time_that_no_calendar_has_is_of_the_nearest_day_that_there_is(
    millis: int, day: date
) -> None:
    found = nearest_day(millis)

    assert found == day
