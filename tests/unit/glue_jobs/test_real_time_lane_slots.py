"""A lane in real time that has more partitions than task slots: it says so, and none waits long."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from queue import Queue
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest

from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.metrics import LaneMetric
from glue_jobs.engine.supervisor import POLL_INTERVAL_S, REPLACE_LIMIT_S
from glue_jobs.kafka.admin import Offsets, Partition
from glue_jobs.parse_lane.lane_metrics import LaneValues
from glue_jobs.parse_lane.real_time.lane import Mode, RealTimeLane
from glue_jobs.parse_lane.real_time.probe import PROBE
from glue_jobs.parse_lane.real_time.slots import task_slots
from glue_jobs.parse_lane.real_time.watch import BEGIN_S_MAX
from tests.unit.glue_jobs.lane_arguments import lane_arguments

NAME: Final = "parse_lane_fast"
ARGUMENTS: Final = lane_arguments(Lane.FAST, trigger=LaneTrigger.REAL_TIME)


class JavaObject:
    """One of Spark's, whose methods give these values."""

    def __init__(self, **values: object) -> None:
        self._values = values

    def __getattr__(self, method: str) -> Any:
        value = self._values[method]
        return lambda *_: value


PROGRESS: Final = (
    '{"id": "%(id)s", "runId": "%(id)s", "name": "", "timestamp": "", "batchId": 0,'
    ' "batchDuration": 5, "stateOperators": [], "sources": [],'
    ' "sink": {"description": "", "numOutputRows": -1}}'
)
BATCH: Final = JavaObject(json=PROGRESS % {"id": UUID(int=1)})
"""The progress of a query that has had one."""


@dataclass(frozen=True, slots=True)
class Executors:
    """Scala's list of them, each with its slots."""

    slots: tuple[int, ...]

    def size(self) -> int:
        return len(self.slots)

    def apply(self, at: int) -> JavaObject:
        return JavaObject(maxTasks=self.slots[at])


@dataclass
class FakeSession:
    """A session with executors, and with queries by name: each with its progress, or none."""

    slots: tuple[int, ...] = (2, 2)
    queries: Mapping[str, JavaObject | None] = field(default_factory=dict)
    conf: Any = field(default_factory=lambda: SimpleNamespace(set=lambda *_: None))

    def newSession(self) -> "FakeSession":  # noqa: N802 - Spark's name
        return self

    @property
    def sparkContext(self) -> SimpleNamespace:  # noqa: N802 - likewise
        store = JavaObject(executorList=Executors(self.slots))
        return SimpleNamespace(_jsc=JavaObject(sc=JavaObject(statusStore=store)))

    @property
    def _jsparkSession(self) -> JavaObject:  # noqa: N802 - likewise
        found = [JavaObject(name=name, lastProgress=at) for name, at in self.queries.items()]
        active = JavaObject(activeStreamingQueries=JavaObject(values=found))
        return JavaObject(sharedState=active)


@dataclass
class FakeQuery:
    isActive: bool = True  # noqa: N815 - Spark's name

    def stop(self) -> None:
        self.isActive = False


@dataclass
class FakeKafka:
    """Topics with so many partitions each, all of whose records were read."""

    by_topic: dict[str, int]

    def matching(self, pattern: str) -> Iterable[str]:
        return [topic for topic in self.by_topic if re.fullmatch(pattern, topic)]

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        return [(topic, number) for topic in topics for number in range(self.by_topic[topic])]

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        return dict.fromkeys(partitions, 7)

    beginnings = ends

    def committed(self, group: str) -> Offsets:
        assert group, "it is asked for one"
        return {}


def lane_with(
    session: FakeSession | None = None, *, partitions: int = 4, publish: Any = lambda _: None
) -> Any:
    """A lane whose canary has come through; ``Any``, as it has a fake for Kafka."""
    spark: Any = session or FakeSession()
    start_batches: Any = lambda _: FakeQuery()  # noqa: E731 - Spark's query has more
    lane: Any = RealTimeLane(
        spark,
        ARGUMENTS,
        source=(NAME, r"raw\.fast(\..+)?"),
        start_batches=start_batches,
        publish=publish,
    )
    lane._is_possible = True
    lane._admin = FakeKafka({"raw.fast": partitions, "raw.standard": 4})
    return lane


def desired_mode(lane: Any) -> object:
    return lane._desired()[NAME].settings


def test_the_slots_of_all_executors_count() -> None:
    session: Any = FakeSession(slots=(0, 4, 2))  # a driver has none

    assert task_slots(session, others=0).slots == 6


@pytest.mark.parametrize(
    ("queries", "others"),
    [
        ({"fleet_watch": BATCH, "parse_lane_fast_pump": BATCH}, 2),
        ({"parse_lane_fast_pump": None}, 0),
        ({NAME: BATCH}, 0),
        ({PROBE: BATCH}, 0),
    ],
    ids=["others", "without a batch", "its own", "the canary's"],
)
def test_only_a_query_beside_that_had_a_batch_keeps_a_slot(
    queries: Mapping[str, JavaObject | None], others: int
) -> None:
    lane = lane_with(FakeSession(queries=queries))

    assert lane._task_slots().others == others


@pytest.mark.parametrize(
    ("partitions", "mode"), [(4, Mode.REAL_TIME), (5, Mode.CATCHING_UP)], ids=["all", "one less"]
)
def test_a_lane_runs_in_real_time_only_where_each_partition_has_a_slot(
    partitions: int, mode: Mode
) -> None:
    assert desired_mode(lane_with(partitions=partitions)) is mode


def test_partitions_of_other_lanes_need_no_slot() -> None:
    lane = lane_with(partitions=4)

    lane._admin.by_topic["raw.slow"] = 4

    assert desired_mode(lane) is Mode.REAL_TIME


def test_a_query_that_runs_in_real_time_is_to_be_replaced_once_a_new_topic_has_no_slot() -> None:
    lane = lane_with(partitions=4)
    lane._query = FakeQuery()

    lane._admin.by_topic["raw.fast.stream.pump"] = 2

    assert desired_mode(lane) is Mode.CATCHING_UP


def test_a_query_that_runs_in_real_time_is_to_be_replaced_once_an_executor_is_lost() -> None:
    session = FakeSession(slots=(2, 2))
    lane = lane_with(session, partitions=4)
    lane._query = FakeQuery()

    session.slots = (2,)

    assert desired_mode(lane) is Mode.CATCHING_UP


def test_a_query_that_runs_in_real_time_is_to_be_replaced_once_another_keeps_its_slot() -> None:
    session = FakeSession(slots=(2, 2))
    lane = lane_with(session, partitions=4)
    lane._query = FakeQuery()

    session.queries = {"parse_lane_fast_pump": BATCH}

    assert desired_mode(lane) is Mode.CATCHING_UP


def test_the_log_names_how_many_partitions_have_no_slot_and_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lane = lane_with(FakeSession(queries={"fleet_watch": BATCH}), partitions=5)

    desired_mode(lane)

    assert caplog.messages == [
        "2 of 5 partitions have no task slot (4, of which others keep 1):"
        " their lane runs in micro-batches"
    ]


def test_how_many_partitions_have_no_slot_is_published_at_once() -> None:
    published = Queue[LaneValues]()
    lane = lane_with(partitions=6, publish=published.put)

    supervisor = lane.supervised()
    values = published.get(timeout=10)
    supervisor.stop()

    assert values == {LaneMetric.SURPLUS_PARTITIONS: 2}


def test_a_query_is_replaced_within_a_batch_of_when_its_slots_are_counted() -> None:
    assert ARGUMENTS.real_time_batch_ms >= REPLACE_LIMIT_S * 1_000


def test_slots_are_counted_and_a_silent_task_is_noticed_within_one_batch() -> None:
    assert ARGUMENTS.real_time_batch_ms > (POLL_INTERVAL_S + BEGIN_S_MAX) * 1_000
