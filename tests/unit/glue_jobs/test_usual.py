"""What is usual: a band that a bad week does not move, and that chance does not leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glue_jobs.fleet_watch.flow_hours import KNOWN_MIN, Usual, usual_of

counts = st.lists(st.integers(0, 1_000_000), min_size=KNOWN_MIN, max_size=10)
shares = st.lists(st.floats(0, 1), min_size=KNOWN_MIN, max_size=10)


def known(values: list[int] | list[float]) -> Usual:
    usual = usual_of(values)
    assert usual is not None
    return usual


@given(st.lists(st.integers(0, 100), max_size=KNOWN_MIN - 1))
def test_of_too_few_values_nothing_is_usual(values: list[int]) -> None:
    assert usual_of(values) is None


@given(counts)
def test_as_many_devices_as_in_the_middle_are_usual(values: list[int]) -> None:
    usual = known(values)

    assert 0 <= usual.devices_min <= usual.middle


@given(counts)
def test_the_order_of_the_weeks_does_not_count(values: list[int]) -> None:
    assert known(values) == known(sorted(values))


@given(st.integers(0, 1_000_000), st.integers(0, 1_000_000), st.integers(4, 10))
def test_one_week_out_of_the_ordinary_moves_nothing(steady: int, odd: int, weeks: int) -> None:
    ordinary = [steady] * weeks

    assert known([*ordinary, odd]) == known(ordinary)


@given(counts, st.integers(1, 1_000))
def test_a_wider_scatter_is_never_a_narrower_band(values: list[int], away: int) -> None:
    middle = known(values).middle
    wider = [value + away if value >= middle else value - away for value in values]

    assert known(wider).spread >= known(values).spread


@given(shares)
def test_a_share_that_is_a_tenth_over_the_middle_is_still_usual(values: list[float]) -> None:
    usual = known(values)

    assert min(1.0, usual.middle + 0.1) <= usual.parked_share_max <= 1


@pytest.mark.parametrize(
    ("steady", "least"), [(0, 0), (4, 0), (16, 8), (100, 80), (400, 360), (10_000, 9_000)]
)
def test_few_devices_may_miss_a_larger_share_than_many(steady: int, least: float) -> None:
    assert known([steady] * KNOWN_MIN).devices_min == pytest.approx(least)
