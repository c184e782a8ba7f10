"""Offsets that are checked all at once, as one by one."""

from array import array
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.sandbox.worker.replies import rise_by_at_most

NEAR = st.integers(0, 60)
ANY = st.integers(-(1 << 31), (1 << 31) - 1)


@given(st.lists(NEAR, min_size=1, max_size=12) | st.lists(ANY, min_size=1, max_size=12), NEAR)
def test_all_offsets_at_once_are_judged_as_one_by_one(offsets: list[int], step_max: int) -> None:
    steps = [after - before for before, after in pairwise(offsets)]
    wanted = all(0 <= step <= step_max for step in steps) and (not steps or min(offsets) >= 0)

    found = rise_by_at_most(memoryview(array("i", offsets)), step_max)

    assert found is wanted


@given(st.lists(NEAR, min_size=1, max_size=300))
def test_offsets_that_rise_are_sound_whatever_their_number(steps: list[int]) -> None:
    offsets = array("i", [sum(steps[:place]) for place in range(len(steps) + 1)])

    found = rise_by_at_most(memoryview(offsets), max(steps))

    assert found
