"""In real time each partition has a task slot for itself, and workers' clocks are the driver's."""

import pytest

from glue_jobs.parse_lane.real_time.slots import PAUSE_S, Clocks, SlotCheck, TaskSlots

NOW_MS = 1_762_178_709_123


@pytest.mark.parametrize(
    ("slots", "others", "partitions", "surplus"),
    [
        (4, 0, 4, 0),  # all fit
        (4, 0, 5, 1),  # a topic or a partition more
        (2, 0, 4, 2),  # an executor less
        (6, 2, 4, 0),  # each query beside keeps one
        (6, 3, 4, 1),
        (2, 3, 4, 4),  # none is left
        (4, 0, 0, 0),
    ],
)
def test_partitions_that_no_slot_is_left_for_are_counted(
    slots: int, others: int, partitions: int, surplus: int
) -> None:
    assert TaskSlots(slots=slots, others=others).surplus(partitions) == surplus


def noted(clocks: Clocks, task: int, delays_ms: list[int]) -> list[str]:
    for delay_ms in delays_ms:
        clocks.note(task, NOW_MS - delay_ms)
    return list(clocks.new_problems())


def test_heartbeats_that_come_late_say_nothing_of_a_clock() -> None:
    clocks = Clocks(lambda: NOW_MS)

    assert noted(clocks, 0, [30, *[4_000] * 19]) == []


@pytest.mark.parametrize(
    ("delay_ms", "sentence"),
    [
        (2_000, "the clock where task 3 runs is 2000 ms behind the driver's"),
        (-2_000, "the clock where task 3 runs is 2000 ms ahead of the driver's"),
    ],
)
def test_a_clock_that_is_two_seconds_off_is_named(delay_ms: int, sentence: str) -> None:
    clocks = Clocks(lambda: NOW_MS)
    noted(clocks, 1, [20] * 20)

    named = noted(clocks, 3, [delay_ms + late for late in range(20)])

    assert named == [sentence]
    assert list(clocks.new_problems()) == []  # once is enough


def test_a_clock_is_not_judged_by_a_few_heartbeats() -> None:
    assert noted(Clocks(lambda: NOW_MS), 0, [2_000] * 19) == []


def test_a_query_that_begins_again_may_run_elsewhere() -> None:
    clocks = Clocks(lambda: NOW_MS)
    noted(clocks, 0, [2_000] * 20)

    clocks.begin()

    assert list(clocks.new_problems()) == []


class Lane:
    """What a check asks: slots, partitions, and a clock."""

    def __init__(self) -> None:
        self.slots, self.partitions, self.now_s = 4, 4, 1_000.0
        self.check = SlotCheck(
            lambda: TaskSlots(slots=self.slots, others=0),
            lambda: self.partitions,
            monotonic=lambda: self.now_s,
        )


def test_a_lane_whose_partitions_have_slots_fits() -> None:
    assert Lane().check.fits()


def test_an_executor_that_is_lost_and_a_topic_more_are_found_at_the_next_check(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lane = Lane()
    lane.check.fits()
    lane.slots, lane.partitions = 2, 6

    assert not lane.check.fits()
    assert lane.check.surplus == 4
    assert "4 of 6 partitions have no task slot" in caplog.text


def test_a_lane_is_tried_again_only_after_a_pause() -> None:
    lane = Lane()
    lane.slots = 3
    lane.check.fits()
    lane.slots = 4

    at_once = lane.check.fits()
    lane.now_s += PAUSE_S

    assert (at_once, lane.check.fits(), lane.check.surplus) == (False, True, 0)
