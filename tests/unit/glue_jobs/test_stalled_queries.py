"""A query of a lane that has work and makes no progress is ended; a slow or idle one is not."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from fleetlane.events.lanes import LANE_LIMITS, Lane
from glue_jobs.engine.stalls import StallWatch

STEP_S = 5.0
MINUTE = 12
"""In steps."""


@dataclass(kw_only=True)
class FakeQuery:
    """A query as Spark reports it."""

    name: str = "parse_lane_fast"
    runId: str = "run-1"  # noqa: N815 - Spark's name
    batch: int = 7
    is_active: bool = True
    has_data: bool = True
    refuses: bool = False
    stops: int = 0

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": self.is_active, "isDataAvailable": self.has_data}

    @property
    def lastProgress(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"batchId": self.batch}

    def stop(self) -> None:
        if self.refuses:
            raise TimeoutError
        self.stops += 1


@dataclass
class Watched:
    """A query under watch, on a clock of its own."""

    query: FakeQuery
    now_s: float = 100.0
    tasks: int = 0
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = StallWatch(
            lambda _: self.tasks, monotonic=lambda: self.now_s, wait=self.waits.append
        )

    def check(self, steps: int, *, step_s: float = STEP_S) -> None:
        for _ in range(steps):
            self.now_s += step_s
            self.watch.check([self.query])


@pytest.mark.parametrize("name", ["parse_lane_fast", "parse_lane_standard_door"])
def test_a_query_without_progress_for_a_minute_is_ended_and_its_workers_given_time_to_go(
    name: str,
) -> None:
    watched = Watched(FakeQuery(name=name))

    watched.check(MINUTE)
    before = watched.query.stops
    watched.check(1)

    assert (before, watched.query.stops) == (0, 1)
    assert watched.watch.ended.taken() == 1
    assert watched.waits == [5.0]


@pytest.mark.parametrize("lane", [Lane.BULK, Lane.SLOW])
def test_a_lane_whose_messages_take_long_has_longer(lane: Lane) -> None:
    watched = Watched(FakeQuery(name=f"parse_lane_{lane}.over"))
    steps = int(LANE_LIMITS[lane].stalled_after_s / STEP_S)

    watched.check(steps)
    before = watched.query.stops
    watched.check(1)

    assert (before, watched.query.stops) == (0, 1)


def test_a_long_batch_whose_tasks_end_one_by_one_is_progress() -> None:
    watched = Watched(FakeQuery())

    for _ in range(10):
        watched.check(MINUTE - 2)
        watched.tasks += 1

    assert watched.query.stops == 0


@pytest.mark.parametrize(
    "query",
    [FakeQuery(is_active=False), FakeQuery(has_data=False), FakeQuery(name="lake_events")],
    ids=["between-batches", "idle", "no-lane"],
)
def test_a_query_without_work_and_one_of_no_lane_are_left_alone(query: FakeQuery) -> None:
    watched = Watched(query)

    watched.check(10 * MINUTE)

    assert query.stops == 0


def test_a_paused_machine_and_a_kafka_that_does_not_answer_are_no_stall() -> None:
    watched = Watched(FakeQuery())
    watched.check(2)

    watched.check(3, step_s=3_600)

    assert watched.query.stops == 0


def test_a_query_that_stalls_again_has_twice_the_time_until_a_batch_is_done() -> None:
    watched = Watched(FakeQuery())
    watched.check(MINUTE + 1)
    watched.query.runId = "run-2"

    watched.check(MINUTE + 1)
    again = watched.query.stops
    watched.check(MINUTE)
    twice = watched.query.stops
    watched.query.batch = 8
    watched.query.runId = "run-3"
    watched.check(MINUTE + 1)

    assert (again, twice, watched.query.stops) == (1, 2, 3)


def test_how_long_a_query_has_stalled_is_known_before_it_is_ended() -> None:
    watched = Watched(FakeQuery())
    watched.check(3)
    early = watched.watch.stalled_ms("parse_lane_fast")

    watched.check(5)

    assert (early, watched.watch.stalled_ms("parse_lane_fast")) == (0, 35_000)
    assert watched.watch.stalled_ms("lake_events") == 0


def test_where_a_query_cannot_be_ended_its_application_ends() -> None:
    watched = Watched(FakeQuery(refuses=True))

    with pytest.raises(SystemExit):
        watched.check(MINUTE + 1)
