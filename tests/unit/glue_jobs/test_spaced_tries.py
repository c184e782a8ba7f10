"""A message that failed in the slow lane is not tried again at once."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from fleetlane.events.lanes import LANE_LIMITS, Lane
from glue_jobs.parse_lane.budgets import BATCHES_TO_ALARM, BUDGET_SHARE_MAX
from glue_jobs.parse_lane.parse import spaced_tries

NOW_MS = 1_762_178_709_500
APART_MS = 10_000

type Headers = list[tuple[str, bytes]]
NEW: Headers = [("ce_attempt", b"2")]
TRIED: Headers = [("ce_attempt", b"2"), ("ce_slowtries", b"1")]


def batch_of(*records: tuple[Headers, int]) -> pa.RecordBatch:
    """Records by their headers, and how many milliseconds ago they were written."""
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    headers = [[{"key": name, "value": value} for name, value in one] for one, _ in records]
    times = [datetime.fromtimestamp((NOW_MS - ago_ms) / 1000, UTC) for _, ago_ms in records]
    return pa.RecordBatch.from_arrays(
        [pa.array(headers, pa.list_(header)), pa.array(times, pa.timestamp("us", tz="UTC"))],
        names=["headers", "timestamp"],
    )


@pytest.mark.parametrize(
    ("records", "waits_s"),
    [
        ([(NEW, 0)], []),
        ([], []),
        ([(TRIED, 4_000)], [6.0]),
        ([(TRIED, 60_000)], [0.0]),
        ([(TRIED, 8_000), (NEW, 0), (TRIED, 3_000)], [7.0]),
        ([(TRIED, -3_600_000)], [10.0]),
    ],
    ids=["first-try", "nothing", "just-now", "long-ago", "the-newest-counts", "clocks-differ"],
)
def test_a_batch_waits_until_the_last_try_of_its_messages_is_long_enough_ago(
    records: list[tuple[Headers, int]], waits_s: list[float]
) -> None:
    waited: list[float] = []
    batch = batch_of(*records)

    given = list(
        spaced_tries([batch], apart_ms=APART_MS, now_ms=lambda: NOW_MS, sleep=waited.append)
    )

    assert given == [batch]
    assert waited == waits_s


def test_four_flows_that_use_up_their_time_delay_a_batch_of_the_slow_lane_by_no_alarm() -> None:
    limits = LANE_LIMITS[Lane.SLOW]

    flow_s = limits.lag_alarm_s / BATCHES_TO_ALARM * BUDGET_SHARE_MAX

    assert limits.uncharged_share == 0
    assert 4 * flow_s < limits.lag_alarm_s / BATCHES_TO_ALARM
