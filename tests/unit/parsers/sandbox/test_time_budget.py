"""A flow's time budget is used up by its messages, and comes back as time passes."""

import pytest
from msgspec.structs import replace

from fleetlane.parsers.sandbox.budgets import NO_END_BYTES, NO_END_S, SHORT_US_MIN, TimeBudget
from tests.unit.parsers.sandbox.conftest import program, run_of

SECOND_US = 1_000_000
GPS = run_of(program("json", None), []).assignment
TANK = run_of(program("json", None), [], stream="tank").assignment
OTHERS = replace(TANK, flow=replace(TANK.flow, owner="others"))


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_what_a_flow_uses_is_its_own_loss_and_a_quarter_of_it_its_owners() -> None:
    budget = TimeBudget(flow_s_max=20, monotonic=Clock())

    budget.charge(GPS, 4 * SECOND_US)

    left_us = [budget.left_us(assignment) for assignment in (GPS, TANK, OTHERS)]
    assert left_us == [16 * SECOND_US, 19 * SECOND_US, 20 * SECOND_US]


def test_an_owner_of_many_flows_has_the_time_of_four() -> None:
    budget = TimeBudget(flow_s_max=20, overdraft_s_max=20, monotonic=Clock())
    flows = [replace(GPS, flow=replace(GPS.flow, stream=f"gps_{number}")) for number in range(50)]

    tried = 0
    for assignment in flows:
        while budget.may_try(assignment):
            budget.charge(assignment, 5 * SECOND_US)
            tried += 1

    assert tried * 5 <= 4 * (20 + 20) + 5
    assert budget.left_us(OTHERS) == 20 * SECOND_US


def test_a_flow_that_is_stopped_for_what_a_child_reports_does_not_stop_its_owners_others() -> None:
    budget = TimeBudget(flow_s_max=20, monotonic=Clock())

    budget.charge(GPS, 1 << 62)

    assert not budget.may_try(GPS)
    assert budget.left_us(TANK) == 15 * SECOND_US


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


def test_whatever_a_child_reports_uses_up_no_budget_that_has_no_end() -> None:
    budget, stream = TimeBudget(flow_s_max=NO_END_S), GPS.flow.stream

    for _ in range(3):
        budget.charge(GPS, 1 << 62)
        budget.output.charge(stream, 1 << 62)

    assert budget.may_try(GPS)
    assert budget.output.left_bytes(stream) == NO_END_BYTES


@pytest.mark.parametrize(
    ("usual_us", "short_us"), [(60, SHORT_US_MIN), (3_000, 12_000), (20_000, 25_000)]
)
def test_the_shorter_limit_is_four_times_what_is_usual_within_a_tenth_of_the_limit(
    usual_us: int, short_us: int
) -> None:
    budget = TimeBudget(flow_s_max=1, monotonic=Clock())

    for _ in range(10):
        budget.charge(GPS, 0, [*[usual_us] * 95, *[200_000] * 5])

    assert budget.allowance(GPS).short_us == short_us


def test_a_flow_whose_messages_all_take_longer_than_they_did_has_a_longer_limit_soon() -> None:
    budget = TimeBudget(flow_s_max=1, monotonic=Clock())
    budget.charge(GPS, 0, [60] * 1_000)

    budget.charge(GPS, 0, [*[5_500] * 500, *[0] * 500])

    assert budget.allowance(GPS).short_us > 2 * 5_500


def test_an_overdraft_is_used_up_later_than_the_budget() -> None:
    clock = Clock()
    budget = TimeBudget(flow_s_max=2, overdraft_s_max=1, regained_share=0.5, monotonic=clock)

    tried = []
    for charged_s, passed_s in ((2.5, 0), (1, 0), (0, 2)):
        budget.charge(GPS, int(charged_s * SECOND_US))
        clock.now_s += passed_s
        tried.append((budget.allowance(GPS).budget_us, budget.may_try(GPS)))

    assert tried == [(-500_000, True), (-1_000_000, False), (-500_000, True)]
