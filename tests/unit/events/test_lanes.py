from functools import partial

import pytest

from fleetlane.events.lanes import (
    INLINE_BYTES_MAX,
    LANE_LIMITS,
    LATE_AFTER_MS,
    PARSE_GRACE_FACTOR,
    SLOW_TRIES_MAX,
    Lane,
    LaneFacts,
    lane_for,
)

FAST, STANDARD, SLOW = Lane.FAST, Lane.STANDARD, Lane.SLOW
KIB_256 = 262_144
DAY_MS = 86_400_000


facts = partial(LaneFacts, asked=FAST, declared=FAST)

GOLDEN = {
    "nothing known": (LaneFacts(), STANDARD),
    "asked fast, declared fast": (facts(), FAST),
    "asked fast, declared standard": (facts(declared=STANDARD), STANDARD),
    "asked fast, declared slow": (facts(declared=SLOW), SLOW),
    "asked standard, declared fast": (facts(asked=STANDARD), STANDARD),
    "asked standard, declared standard": (facts(asked=STANDARD, declared=STANDARD), STANDARD),
    "asked standard, declared slow": (facts(asked=STANDARD, declared=SLOW), SLOW),
    "asked slow, declared fast": (facts(asked=SLOW), STANDARD),
    "asked slow, declared standard": (facts(asked=SLOW, declared=STANDARD), STANDARD),
    "asked slow, declared slow": (facts(asked=SLOW, declared=SLOW), SLOW),
    "empty": (facts(body_bytes=0), FAST),
    "256 KiB": (facts(body_bytes=KIB_256), FAST),
    "a byte more": (facts(body_bytes=KIB_256 + 1), SLOW),
    "a byte more, standard": (facts(asked=STANDARD, body_bytes=KIB_256 + 1), SLOW),
    "data from the future": (facts(data_age_ms=-DAY_MS), FAST),
    "data of this moment": (facts(data_age_ms=0), FAST),
    "data of a day ago": (facts(data_age_ms=DAY_MS), FAST),
    "a millisecond older": (facts(data_age_ms=DAY_MS + 1), SLOW),
    "a millisecond older, standard": (facts(asked=STANDARD, data_age_ms=DAY_MS + 1), SLOW),
    "quarantined": (facts(is_quarantined=True), SLOW),
    "quarantined, standard": (facts(asked=STANDARD, is_quarantined=True), SLOW),
    "second attempt": (facts(attempt=2), SLOW),
    "second attempt, standard": (facts(asked=STANDARD, attempt=2), SLOW),
    "all at once": (
        facts(body_bytes=KIB_256 + 1, data_age_ms=DAY_MS + 1, is_quarantined=True, attempt=9),
        SLOW,
    ),
}


@pytest.mark.parametrize(("given", "lane"), GOLDEN.values(), ids=GOLDEN)
def test_the_golden_table_of_lanes_holds(given: LaneFacts, lane: Lane) -> None:
    assert lane_for(given) is lane


@pytest.mark.parametrize(
    ("lane", "parse_ms_max", "trigger_ms"),
    [(FAST, 100, 0), (STANDARD, 250, 1_000), (SLOW, 60_000, 10_000)],
)
def test_a_lanes_parse_limit_and_trigger_are_the_designs(
    lane: Lane, parse_ms_max: int, trigger_ms: int
) -> None:
    limits = LANE_LIMITS[lane]

    assert (limits.parse_ms_max, limits.trigger_ms) == (parse_ms_max, trigger_ms)


def test_every_lane_has_limits_and_each_slower_one_is_allowed_more() -> None:
    fast, standard, slow = (LANE_LIMITS[lane] for lane in Lane)

    assert fast.memory_bytes_max < standard.memory_bytes_max < slow.memory_bytes_max
    assert fast.lag_alarm_s < standard.lag_alarm_s < slow.lag_alarm_s


def test_the_constants_of_the_rules_are_the_designs() -> None:
    assert (INLINE_BYTES_MAX, LATE_AFTER_MS, PARSE_GRACE_FACTOR, SLOW_TRIES_MAX) == (
        KIB_256,
        DAY_MS,
        1.2,
        3,
    )
