"""A lane in real time whose query runs on, whatever beside it fails or is slow."""

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import pytest

from fleetlane.events.heartbeats import Heartbeat
from fleetlane.events.lanes import Lane, LaneTrigger
from glue_jobs.engine.supervisor import Supervisor
from glue_jobs.parse_lane.lane_metrics import LaneValues
from glue_jobs.parse_lane.real_time import lane as lane_module
from glue_jobs.parse_lane.real_time.lane import RealTimeLane
from glue_jobs.parse_lane.real_time.watch import RealTimeWatch
from tests.unit.glue_jobs.lane_arguments import lane_arguments

RUN: Final = "run-1"
ARGUMENTS: Final = lane_arguments(Lane.FAST, trigger=LaneTrigger.REAL_TIME)


@dataclass
class Clock:
    now_s: float = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class FakeQuery:
    runId: str = RUN  # noqa: N815 - Spark's name
    isActive: bool = True  # noqa: N815 - likewise
    lastProgress: None = None  # noqa: N815 - likewise
    status: dict[str, Any] = field(default_factory=lambda: {"isTriggerActive": False})

    def exception(self) -> None: ...

    def stop(self) -> None:
        self.isActive = False


@dataclass
class OneBeat:
    """A reader that finds a heartbeat of the one task, each time."""

    def read_available(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(value=Heartbeat(run=RUN, task=0).to_json())]


@dataclass
class FakeSession:
    conf: Any = field(default_factory=lambda: SimpleNamespace(set=lambda *_: None))

    def newSession(self) -> "FakeSession":  # noqa: N802 - Spark's name
        return self


def lane_with(publish: Any = lambda _: None) -> RealTimeLane:
    session: Any = FakeSession()
    start_batches: Any = lambda _: FakeQuery()  # noqa: E731 - Spark's query has more
    return RealTimeLane(
        session,
        ARGUMENTS,
        source=("parse_lane_fast", "raw\\.fast"),
        start_batches=start_batches,
        publish=publish,
    )


def test_a_slow_cloudwatch_makes_no_task_silent() -> None:
    clock, query = Clock(), FakeQuery()

    def publish_slowly(_: LaneValues) -> None:
        clock.now_s += 6

    lane: Any = lane_with(publish_slowly)
    lane._watch = RealTimeWatch(stalled_after_s=60, monotonic=clock)
    lane._watch.begin(RUN, tasks=1)
    lane._reader, lane._query = OneBeat(), query

    lane._check(Supervisor(dict))

    assert query.isActive


def test_a_canary_that_did_not_come_back_is_sent_again_until_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, is_back = [False, False, True], threading.Event()

    def runs_in_real_time(*_: object) -> bool:
        answer = answers.pop(0)
        if answer:
            is_back.set()
        return answer

    monkeypatch.setattr(lane_module, "runs_in_real_time", runs_in_real_time)
    monkeypatch.setattr(lane_module, "FAILED_PAUSE_S", 0)
    lane: Any = lane_with()

    supervisor = lane.supervised()

    assert is_back.wait(10)
    supervisor.stop()
