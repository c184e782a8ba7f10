"""A flow's time budget is used up by its messages, and comes back as time passes."""

from fleetlane.parsers.sandbox.time_budget import TimeBudget
from tests.unit.parsers.sandbox.conftest import program, run_of

SECOND_US = 1_000_000
GPS = run_of(program("json", None), []).assignment
TANK = run_of(program("json", None), [], stream="tank").assignment


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_what_a_flow_uses_is_its_own_loss() -> None:
    budget = TimeBudget(flow_s_max=20, monotonic=Clock())

    budget.charge(GPS, 5 * SECOND_US)

    assert (budget.left_us(GPS), budget.left_us(TANK)) == (15 * SECOND_US, 20 * SECOND_US)


def test_a_share_of_the_time_that_passes_comes_back_up_to_what_it_began_with() -> None:
    clock = Clock()
    budget = TimeBudget(flow_s_max=20, regained_share=0.2, monotonic=clock)
    budget.charge(GPS, 21 * SECOND_US)

    left_us = []
    for passed_s in (0, 10, 1_000):
        clock.now_s += passed_s
        left_us.append(budget.left_us(GPS))

    assert left_us == [-SECOND_US, SECOND_US, 20 * SECOND_US]


def test_without_a_share_nothing_comes_back() -> None:
    clock = Clock()
    budget = TimeBudget(flow_s_max=1, monotonic=clock)
    budget.charge(GPS, 2 * SECOND_US)

    clock.now_s += 1_000

    assert budget.left_us(GPS) == -SECOND_US
