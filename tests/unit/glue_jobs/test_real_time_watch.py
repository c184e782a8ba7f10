"""The driver notices a worker that is silent, stuck, or that reports a problem."""

import json
from dataclasses import dataclass

import pytest

from fleetlane.events.heartbeats import Heartbeat
from fleetlane.events.metrics import LaneMetric
from glue_jobs.parse_lane.real_time.watch import (
    BEGIN_S_MAX,
    PATIENCE_LOST_S,
    SILENCE_S_MAX,
    RealTimeWatch,
)

RUN = "run-1"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True)
class Reported:
    """What Spark reports of a batch, the part that is read here."""

    json: str


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> RealTimeWatch:
    watch = RealTimeWatch(stalled_after_s=60, monotonic=clock)
    watch.begin(RUN, tasks=2)
    return watch


def beat(task: int, **fields: object) -> Heartbeat:
    return Heartbeat(run=RUN, task=task, **fields)  # type: ignore[arg-type] # a test's own fields


def test_a_task_that_never_began_is_noticed(watch: RealTimeWatch, clock: Clock) -> None:
    clock.now_s += BEGIN_S_MAX - 1
    watch.note([beat(0)])

    at_first = watch.problem()
    clock.now_s += 1.5
    watch.note([beat(0)])

    assert at_first is None
    assert watch.problem() == "no heartbeat of task 1"


def test_a_task_of_a_partition_that_was_added_has_until_the_next_batch_to_begin(
    watch: RealTimeWatch, clock: Clock
) -> None:
    watch.expect(3, within_s=60)
    problems = []
    for _ in range(int(60 + BEGIN_S_MAX) + 2):
        watch.note([beat(0), beat(1)])
        problems.append(watch.problem())
        clock.now_s += 1

    assert {*problems[: int(60 + BEGIN_S_MAX)]} == {None}
    assert problems[-1] == "no heartbeat of task 2"


def test_a_task_of_a_partition_that_was_added_and_began_is_not_missed(
    watch: RealTimeWatch, clock: Clock
) -> None:
    watch.expect(3, within_s=60)
    for _ in range(100):
        watch.note([beat(0), beat(1), beat(2)])
        clock.now_s += 1

    assert watch.problem() is None


def test_a_task_that_fell_silent_is_noticed_in_two_seconds(
    watch: RealTimeWatch, clock: Clock
) -> None:
    watch.note([beat(0), beat(1)])
    clock.now_s += SILENCE_S_MAX + 0.1

    assert watch.problem() == "no heartbeat of task 0, 1"


def test_each_time_it_has_more_patience_for_an_hour(watch: RealTimeWatch, clock: Clock) -> None:
    watch.note([beat(0), beat(1)])
    clock.now_s += SILENCE_S_MAX + 0.1
    assert watch.problem() is not None

    watch.begin(RUN, tasks=1)
    watch.note([beat(0)])
    clock.now_s += SILENCE_S_MAX + 0.1
    patient = watch.problem()
    clock.now_s += PATIENCE_LOST_S
    watch.note([beat(0)])
    assert watch.problem() is None
    watch.note([beat(0)])
    clock.now_s += SILENCE_S_MAX + 0.1

    assert patient is None
    assert watch.problem() == "no heartbeat of task 0"


def test_between_two_batches_a_task_has_time_to_begin(watch: RealTimeWatch, clock: Clock) -> None:
    watch.note([beat(0, is_over=True), beat(1, is_over=True)])

    clock.now_s += BEGIN_S_MAX - 1

    assert watch.problem() is None


def test_while_kafka_does_not_answer_nobody_is_silent(watch: RealTimeWatch, clock: Clock) -> None:
    watch.note([beat(0), beat(1)])
    clock.now_s += 10

    watch.excuse()

    assert watch.problem() is None


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (beat(1, problem="S3 fails"), "task 1: S3 fails"),
        (beat(1, waits_ms=60_001), "task 1 has had a message for 60001 ms"),
    ],
    ids=["reported", "stuck"],
)
def test_a_problem_is_noticed_at_once(watch: RealTimeWatch, last: Heartbeat, problem: str) -> None:
    watch.note([last])

    assert watch.problem() == problem


def test_another_runs_heartbeats_do_not_count(watch: RealTimeWatch, clock: Clock) -> None:
    clock.now_s += BEGIN_S_MAX + 1
    watch.note([Heartbeat(run="run-0", task=0, problem="S3 fails"), beat(0), beat(1)])

    assert watch.problem() is None


def test_values_are_those_since_they_were_taken(watch: RealTimeWatch) -> None:
    place = {"topic": "raw.fast", "partition": 1}
    watch.note(
        [
            beat(0, **place, durable_offset=9, counts={"Parsed": 2}, lag_ms=700),
            beat(0, **place, durable_offset=11, counts={"Parsed": 3}, lag_ms=40),
        ]
    )

    first, second = watch.taken_values(), watch.taken_values()

    assert first == {LaneMetric.PARSED: 5, LaneMetric.LAG_SECONDS: 0.7}
    assert second == {LaneMetric.LAG_SECONDS: 0.0}
    assert watch.offsets == {("raw.fast", 1): 11}


def test_it_has_begun_once_each_task_has(watch: RealTimeWatch) -> None:
    watch.note([beat(0), beat(0)])
    at_first = watch.has_begun
    watch.note([beat(1)])

    assert not at_first
    assert watch.has_begun


def test_a_partition_that_a_batch_forgets_is_named_once(watch: RealTimeWatch) -> None:
    progress = progress_of(begins={"raw.fast": {"0": 3, "1": 4}}, ends={"raw.fast": {"0": 5}})

    first, second = watch.dropped(progress), watch.dropped(progress)

    assert (first, second) == (["raw.fast-1"], ())
    assert watch.dropped(None) == ()


def test_a_partition_that_is_new_is_not_missing(watch: RealTimeWatch) -> None:
    assert not watch.dropped(progress_of(begins=None, ends={"raw.fast": {"0": 5}}))


def progress_of(*, begins: object, ends: object) -> Reported:
    source = {"startOffset": begins, "endOffset": ends}
    return Reported(json=json.dumps({"batchId": 7, "sources": [source]}))


def test_what_stands_still_again_has_twice_the_time(watch: RealTimeWatch) -> None:
    watch.note([beat(1, waits_ms=60_001), beat(1, waits_ms=61_000)])
    watch.begin(RUN, tasks=2)

    watch.note([beat(1, waits_ms=119_000)])
    patient = watch.problem()
    watch.note([beat(1, waits_ms=120_001)])

    assert patient is None
    assert watch.problem() == "task 1 has had a message for 120001 ms"


def test_tasks_that_are_over_wait_for_the_last_one(watch: RealTimeWatch, clock: Clock) -> None:
    watch.note([beat(0, is_over=True), beat(1)])
    for _ in range(40):
        clock.now_s += 1
        watch.note([beat(1)])

    waiting = watch.problem()
    watch.note([beat(1, is_over=True)])
    clock.now_s += BEGIN_S_MAX + 1

    assert waiting is None
    assert watch.problem() == "no heartbeat of task 0, 1"


def test_a_task_that_does_not_begin_the_next_batch_is_noticed(
    watch: RealTimeWatch, clock: Clock
) -> None:
    watch.note([beat(0, is_over=True), beat(1, is_over=True)])
    for _ in range(int(BEGIN_S_MAX) + 1):
        clock.now_s += 1
        watch.note([beat(1)])

    assert watch.problem() == "no heartbeat of task 0"
