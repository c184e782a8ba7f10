import math
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleetlane.events.canonical import EventTime, TimeQuality
from fleetlane.events.flows.event_ids import event_time_of
from fleetlane.events.flows.flow import EventTimeRule, TimeUnit
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from tests.unit.events.json_values import json_values, numbers_out_of_bounds

NOW = 1_793_714_709_123
HOUR, DAYS_400 = 3_600_000, 400 * 86_400_000
MS, S, TEXT = TimeUnit.MILLISECONDS, TimeUnit.SECONDS, TimeUnit.RFC3339

NOTHING = EventTime(millis=None, quality=TimeQuality.MISSING, bucket_millis=NOW)


def at(value: object, unit: TimeUnit = MS, *, arrival_millis: int = NOW) -> EventTime:
    rule = EventTimeRule(field="t", unit=unit)
    return event_time_of({"t": value}, rule, arrival_millis=arrival_millis)


@pytest.mark.parametrize(
    ("value", "unit", "millis"),
    [
        (NOW, MS, NOW),
        (NOW + 0.4, MS, NOW),
        (float(NOW), MS, NOW),
        (1_793_714_709, S, 1_793_714_709_000),
        (1_793_714_709.123, S, NOW),
        (1_793_714_709.001, S, 1_793_714_709_001),
        ("2026-11-03T14:05:09.123Z", TEXT, NOW),
        ("2026-11-03T15:05:09.123+01:00", TEXT, NOW),
        ("2026-11-03t14:05:09z", TEXT, 1_793_714_709_000),
    ],
)
def test_a_time_is_read_in_its_unit(value: object, unit: TimeUnit, millis: int) -> None:
    assert at(value, unit) == EventTime(millis=millis, quality=TimeQuality.OK, bucket_millis=millis)


@given(st.integers(MILLIS_MIN, MILLIS_MAX).filter(lambda millis: abs(millis) < 10**13))
@example(1001)  # 1.001 * 1000 is a hair less than 1001
@example(-1001)
def test_seconds_with_a_fraction_give_the_exact_millisecond(millis: int) -> None:
    assert at(millis / 1000, S, arrival_millis=millis).millis == millis


@pytest.mark.parametrize("unit", TimeUnit)
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "",
        "1793714709123",
        "2026-11-03",
        "2026-11-03T14:05:09",
        math.nan,
        math.inf,
        -math.inf,
        1e300,
        1e306,
        -1e308,
        10**18,
        10**400,
        -(10**400),
        [],
        [NOW],
        {},
        {"t": NOW},
        b"1",
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_time_is_missing(value: object, unit: TimeUnit) -> None:
    assert at(value, unit) == NOTHING


@pytest.mark.parametrize(
    ("value", "unit"), [(NOW, TEXT), ("2026-11-03T14:05:09Z", MS), ("2026-11-03T14:05:09Z", S)]
)
def test_a_time_of_another_unit_is_missing(value: object, unit: TimeUnit) -> None:
    assert at(value, unit) == NOTHING


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (MILLIS_MIN - 1, MS),
        (MILLIS_MAX + 1, MS),
        (MILLIS_MIN // 1000 - 1, S),
        (MILLIS_MAX // 1000 + 1, S),
        ("0001-01-01T00:00:00+00:01", TEXT),
        ("9999-12-31T23:59:59-00:01", TEXT),
    ],
)
def test_a_time_outside_the_years_1_to_9999_is_missing(value: object, unit: TimeUnit) -> None:
    assert at(value, unit) == NOTHING


@pytest.mark.parametrize("millis", [MILLIS_MIN, MILLIS_MAX])
def test_the_first_and_the_last_millisecond_are_times(millis: int) -> None:
    assert at(millis).millis == millis


@pytest.mark.parametrize(
    ("millis", "quality", "bucket_millis"),
    [
        (NOW + HOUR, TimeQuality.OK, NOW + HOUR),
        (NOW + HOUR + 1, TimeQuality.FUTURE, NOW),
        (NOW - DAYS_400, TimeQuality.OK, NOW - DAYS_400),
        (NOW - DAYS_400 - 1, TimeQuality.ANCIENT, NOW),
    ],
)
def test_a_clock_far_off_is_flagged_and_kept(
    millis: int, quality: TimeQuality, bucket_millis: int
) -> None:
    assert at(millis) == EventTime(millis=millis, quality=quality, bucket_millis=bucket_millis)


@pytest.mark.parametrize(
    ("millis", "quality"),
    [
        (NOW + 60_000, TimeQuality.OK),
        (NOW + 60_001, TimeQuality.FUTURE),
        (NOW - 120_000, TimeQuality.OK),
        (NOW - 120_001, TimeQuality.ANCIENT),
    ],
)
def test_a_flow_may_say_what_is_far_off(millis: int, quality: TimeQuality) -> None:
    rule = EventTimeRule(field="t", unit=MS, future_after_s=60, ancient_after_s=120)

    time = event_time_of({"t": millis}, rule, arrival_millis=NOW)

    assert time.quality is quality


@pytest.mark.parametrize(
    ("event", "millis"),
    [
        ({"a": {"b": {"c": NOW}}}, NOW),
        ({"a": {"b": NOW}}, None),
        ({"a": {"b": None}}, None),
        ({"a": [{"b": {"c": NOW}}]}, None),
        ({"a.b.c": NOW}, None),
        ({}, None),
    ],
)
def test_a_dot_goes_into_a_nested_mapping(event: Mapping[str, object], millis: int | None) -> None:
    rule = EventTimeRule(field="a.b.c", unit=MS)

    time = event_time_of(event, rule, arrival_millis=NOW)

    assert time.millis == millis


def test_without_a_rule_the_time_is_missing() -> None:
    assert event_time_of({"t": NOW}, None, arrival_millis=NOW) == NOTHING


@given(
    value=json_values | numbers_out_of_bounds,
    unit=st.sampled_from(TimeUnit),
    arrival_millis=st.integers(0, MILLIS_MAX),
)
def test_any_value_gives_a_time_that_can_be_written(
    value: object, unit: TimeUnit, arrival_millis: int
) -> None:
    time = at(value, unit, arrival_millis=arrival_millis)

    assert MILLIS_MIN <= time.bucket_millis <= MILLIS_MAX
    assert time.millis is None or MILLIS_MIN <= time.millis <= MILLIS_MAX


@given(value=json_values, unit=st.sampled_from(TimeUnit))
def test_a_bucket_is_event_time_only_where_its_quality_is_ok(value: object, unit: TimeUnit) -> None:
    time = at(value, unit)

    assert time.bucket_millis == (time.millis if time.quality is TimeQuality.OK else NOW)
