"""A message that failed in the slow lane is not tried again at once."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.budgets import OWNER_FLOWS
from glue_jobs.parse_lane.budgets import SLOW_FLOW_S_MAX
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


def test_an_owner_that_uses_up_its_time_in_three_tasks_a_slot_stalls_no_slow_batch() -> None:
    limits = LANE_LIMITS[Lane.SLOW]

    batch_s = 3 * OWNER_FLOWS * SLOW_FLOW_S_MAX

    assert limits.uncharged_share == 0
    assert batch_s < limits.stalled_after_s
