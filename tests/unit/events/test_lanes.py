from functools import partial

import pytest

from fleetlane.events.lanes import (
    INLINE_BYTES_MAX,
    LANE_LIMITS,
    LATE_AFTER_MS,
    PARSE_GRACE_FACTOR,
    SLOW_TRIES_MAX,
    BulkCause,
    Lane,
    LaneFacts,
    bulk_cause,
    lane_for,
)

FAST, STANDARD, BULK, SLOW = Lane
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
    "a byte more": (facts(body_bytes=KIB_256 + 1), BULK),
    "a byte more, standard": (facts(asked=STANDARD, body_bytes=KIB_256 + 1), BULK),
    "data from the future": (facts(data_age_ms=-DAY_MS), FAST),
    "data of this moment": (facts(data_age_ms=0), FAST),
    "data of a day ago": (facts(data_age_ms=DAY_MS), FAST),
    "a millisecond older": (facts(data_age_ms=DAY_MS + 1), BULK),
    "a millisecond older, standard": (facts(asked=STANDARD, data_age_ms=DAY_MS + 1), BULK),
    "quarantined": (facts(is_quarantined=True), BULK),
    "quarantined, standard": (facts(asked=STANDARD, is_quarantined=True), BULK),
    "replayed": (facts(is_replayed=True), BULK),
    "replayed, declared slow": (facts(declared=SLOW, is_replayed=True), SLOW),
    "all at once": (
        facts(body_bytes=KIB_256 + 1, data_age_ms=DAY_MS + 1, is_quarantined=True),
        BULK,
    ),
    "large, declared slow": (facts(declared=SLOW, body_bytes=KIB_256 + 1), SLOW),
}


@pytest.mark.parametrize(("given", "lane"), GOLDEN.values(), ids=GOLDEN)
def test_the_golden_table_of_lanes_holds(given: LaneFacts, lane: Lane) -> None:
    assert lane_for(given) is lane


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (facts(), None),
        (facts(body_bytes=KIB_256 + 1), BulkCause.LARGE),
        (facts(data_age_ms=DAY_MS + 1), BulkCause.LATE),
        (facts(body_bytes=KIB_256 + 1, data_age_ms=DAY_MS + 1), BulkCause.LARGE),
        (facts(body_bytes=KIB_256 + 1, is_quarantined=True), BulkCause.QUARANTINED),
        (facts(is_quarantined=True, is_replayed=True), BulkCause.REPLAYED),
        (facts(declared=SLOW, body_bytes=KIB_256 + 1), None),
    ],
)
def test_a_message_has_one_cause_to_be_in_the_bulk_lane_and_none_elsewhere(
    given: LaneFacts, cause: BulkCause | None
) -> None:
    assert bulk_cause(given) is cause
    assert (lane_for(given) is BULK) is (cause is not None)


@pytest.mark.parametrize(
    ("lane", "parse_ms_max", "trigger_ms"),
    [(FAST, 100, 0), (STANDARD, 250, 1_000), (BULK, 500, 2_000), (SLOW, 60_000, 10_000)],
)
def test_a_lanes_parse_limit_and_trigger_are_the_designs(
    lane: Lane, parse_ms_max: int, trigger_ms: int
) -> None:
    limits = LANE_LIMITS[lane]

    assert (limits.parse_ms_max, limits.trigger_ms) == (parse_ms_max, trigger_ms)


def test_every_lane_has_limits_and_each_slower_one_is_allowed_more() -> None:
    memory_bytes = [LANE_LIMITS[lane].memory_bytes_max for lane in Lane]
    alarms_s = [LANE_LIMITS[lane].lag_alarm_s for lane in Lane]

    assert memory_bytes == sorted(set(memory_bytes))
    assert alarms_s == sorted(set(alarms_s))


def test_the_constants_of_the_rules_are_the_designs() -> None:
    assert (INLINE_BYTES_MAX, LATE_AFTER_MS, PARSE_GRACE_FACTOR, SLOW_TRIES_MAX) == (
        KIB_256,
        DAY_MS,
        1.2,
        3,
    )
