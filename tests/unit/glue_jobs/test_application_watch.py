"""Beside its queries an application looks whether it is to stop, and tells how far they are."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from fleetlane.events.times import HOUR_MS
from fleetlane.events.topics import mirrored_group
from glue_jobs.engine.ended_queries import EndedQueries
from glue_jobs.engine.session import check_alive
from glue_jobs.engine.supervisor import stop_between_batches
from glue_jobs.host import ApplicationWatch, query_names
from glue_jobs.kafka.admin import KafkaAdminError, Offsets, Partition
from glue_jobs.kafka.mirrored_offsets import HOURS_LEFT_MAX, MirroredOffsets, offsets_after

NOW_MS = 1_762_178_709_123
AT: Partition = ("raw.fast", 1)


@dataclass(kw_only=True)
class FakeProgress:
    json: str = (
        '{"sources": [{"description": "KafkaV2[SubscribePattern[raw]]",'
        ' "endOffset": {"raw.fast": {"1": 7}}},'
        ' {"description": "FileStreamSource", "endOffset": {"logOffset": 3}}]}'
    )


@dataclass(kw_only=True)
class FakeQuery:
    """A query whose progress can be read."""

    name: str = "parse_lane_fast"
    isActive: bool = True  # noqa: N815 - Spark's name
    lastProgress: FakeProgress | None = None  # noqa: N815 - likewise


@dataclass(kw_only=True)
class BatchQuery:
    """A query whose batches go by as it is asked for its status."""

    active_for: int
    has_pauses: bool = True
    isActive: bool = True  # noqa: N815 - Spark's name
    asked: int = 0
    stopped_at: int | None = None

    @property
    def status(self) -> dict[str, Any]:
        self.asked += 1
        return {"isTriggerActive": not self.has_pauses or self.asked <= self.active_for}

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        return {"batchId": 1 if self.asked > self.active_for else 0}

    def exception(self) -> object:
        return None

    def stop(self) -> None:
        self.stopped_at, self.isActive = self.asked, False


class StuckQuery(BatchQuery):
    """Spark gives up stopping it."""

    def stop(self) -> None:
        raise TimeoutError


@dataclass
class FakeGroups:
    """Kafka's groups in memory."""

    committed_by: dict[str, Offsets] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    first: int = 0
    began_ms: int = 0

    def groups(self) -> Iterable[str]:
        return self.committed_by

    def commit(self, group: str, offsets: Offsets, *, note: str) -> None:
        self.committed_by[group] = offsets
        self.notes.append(note)

    def committed(self, group: str) -> Offsets:
        return self.committed_by.get(group, {})

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        return dict.fromkeys(partitions, self.first)

    def at_times(self, times_ms: Mapping[Partition, int]) -> Offsets:
        """A record an hour was written, from ``began_ms`` on."""
        return {one: -((self.began_ms - at) // HOUR_MS) for one, at in times_ms.items()}


@dataclass
class Expired:
    """Kafka reports so many expired records, or an error."""

    records: int = 0
    is_unavailable: bool = False

    def __call__(self) -> int:
        if self.is_unavailable:
            raise KafkaAdminError("timed out")
        return self.records


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def mirrored(groups: FakeGroups) -> MirroredOffsets:
    names = ["parse_lane_fast", "deduplicate"]
    return MirroredOffsets(groups, query_names=names, now_ms=lambda: NOW_MS)


def test_a_query_s_group_has_its_name_as_kafka_s_tools_show_it() -> None:
    names = ["parse_lane_fast", "parse_lane_slow_gps-2", "fleet_metadata"]

    groups = [mirrored_group(name) for name in names]

    assert groups == [
        "fleetlane-parse-fast",
        "fleetlane-parse-slow-gps-2",
        "fleetlane-fleet-metadata",
    ]


def test_what_a_query_read_of_kafka_is_read_from_its_progress() -> None:
    offsets = offsets_after(FakeProgress())

    assert offsets == {AT: 7}


def test_kafka_receives_how_far_a_query_is_and_when_it_was_seen_alive() -> None:
    groups = FakeGroups()

    mirrored(groups).mirror([FakeQuery(lastProgress=FakeProgress())])

    assert groups.committed_by == {"fleetlane-parse-fast": {AT: 7}}
    assert groups.notes == [f"{NOW_MS};"]


def test_kafka_receives_how_long_a_query_has_made_no_progress() -> None:
    groups = FakeGroups()
    offsets = MirroredOffsets(
        groups, query_names=[], now_ms=lambda: NOW_MS, stalled_ms=lambda _: 31_000
    )

    offsets.mirror([FakeQuery(lastProgress=FakeProgress())])

    assert groups.notes == [f"{NOW_MS};stalled 31000;"]


@pytest.mark.parametrize(("is_active", "notes"), [(True, [f"{NOW_MS};"]), (False, [])])
def test_a_query_without_a_batch_yet_stands_where_it_stood(
    is_active: bool,  # noqa: FBT001 - pytest passes parameters by name
    notes: list[str],
) -> None:
    groups = FakeGroups({"fleetlane-parse-fast": {AT: 4}}, first=10)

    expired = mirrored(groups).mirror([FakeQuery(isActive=is_active)])

    assert (expired, groups.notes) == (6, notes)


@pytest.mark.parametrize(
    ("dead", "expired"),
    [
        ("fleetlane-parse-fast", 6),
        ("fleetlane-parse-fast-door", 6),
        ("fleetlane-parse-fast.over", 6),
        ("fleetlane-deduplicate-gps", 6),
        ("fleetlane-parse-faster", 0),
        ("fleetlane-parse-slow", 0),
    ],
)
def test_what_expires_before_a_query_that_should_run_and_does_not_counts_too(
    dead: str, expired: int
) -> None:
    groups = FakeGroups({dead: {AT: 4}}, first=10)
    runs = FakeQuery(name="parse_lane_fast_gate", lastProgress=FakeProgress())
    groups.committed_by["fleetlane-parse-fast-gate"] = {AT: 7}

    assert mirrored(groups).mirror([runs]) == expired + 3


@pytest.mark.parametrize(("hours_ago", "left"), [(1, 71), (30, 42), (71, 1), (80, 0)])
def test_what_a_query_has_not_read_is_known_days_before_it_expires(
    hours_ago: int, left: int
) -> None:
    groups = FakeGroups(
        {"fleetlane-parse-fast": {AT: 4}}, began_ms=NOW_MS - (hours_ago + 4) * HOUR_MS
    )
    offsets = mirrored(groups)
    offsets.mirror([])

    assert offsets.hours_left() == left


def test_what_is_all_read_or_kept_for_ever_does_not_expire() -> None:
    groups = FakeGroups(
        {"fleetlane-parse-fast": {AT: 10**6}, "fleetlane-deduplicate-gps": {("parked", 0): 0}}
    )
    offsets = mirrored(groups)
    offsets.mirror([])

    assert offsets.hours_left() == HOURS_LEFT_MAX


def test_the_names_of_queries_follow_from_what_their_jobs_are_given() -> None:
    shared = "--kafka_bootstrap_servers k --checkpoint_folder /c --flows_bucket f --lake_bucket l"
    buckets = "--payload_bucket p --parked_bucket q --lake_warehouse w --tables events"
    jobs = "parse_lane --lane fast; fleet_metadata; deduplicate; lake"

    names = query_names(jobs, f"{shared} {buckets}".split())

    assert names == ["parse_lane_fast", "fleet_metadata", "deduplicate", "lake_events"]


def test_an_application_stops_once_its_marker_is_there_and_not_before() -> None:
    marks, clock = list[str](), Clock()
    watch = ApplicationWatch(
        is_marked=lambda: bool(marks),
        mirrored=Expired(),
        counts=dict,
        hours_left=lambda: 72,
        publish=lambda _: None,
        monotonic=clock,
    )
    before = watch.is_to_stop()

    marks.append("stop/fast")
    at_once = watch.is_to_stop()
    clock.now_s += 10

    assert (before, at_once, watch.is_to_stop()) == (False, False, True)


def test_expired_records_and_ended_queries_are_published_once_a_minute_none_too() -> None:
    mirrored, clock, published = Expired(), Clock(), list[Mapping[str, float]]()
    ended = EndedQueries()
    watch = ApplicationWatch(
        is_marked=lambda: False,
        mirrored=mirrored,
        counts=lambda: {"QueryRestarts": ended.taken()},
        hours_left=lambda: 72,
        publish=published.append,
        monotonic=clock,
    )

    for mirrored.records in (0, 0, 3, 3, 3, 3, 3):
        watch.is_to_stop()
        ended.add()
        clock.now_s += 10

    assert published == [
        {"ExpiredUnread": 0, "ExpiringUnread": 72, "QueryRestarts": 0},
        {"ExpiredUnread": 3, "ExpiringUnread": 72, "QueryRestarts": 6},
    ]


def test_a_kafka_that_does_not_answer_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    published, kafka = list[Mapping[str, float]](), Expired(is_unavailable=True)
    watch = ApplicationWatch(
        is_marked=lambda: True,
        mirrored=kafka,
        counts=lambda: {"QueryRestarts": 2},
        hours_left=kafka,
        publish=published.append,
        monotonic=Clock(),
    )

    is_to_stop = watch.is_to_stop()

    assert is_to_stop
    assert published == [{"ExpiredUnread": 0, "QueryRestarts": 2}]
    assert "timed out" in caplog.text


@pytest.mark.parametrize("has_stopped", [False, True])
def test_an_application_without_spark_ends_so_that_another_is_started(
    has_stopped: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: has_stopped))
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java))

    with pytest.raises(SystemExit, match="Spark has stopped") if has_stopped else nullcontext():
        check_alive(session)


def test_a_query_that_cannot_be_stopped_keeps_no_other_from_its_end() -> None:
    query, stuck = BatchQuery(active_for=0), StuckQuery(active_for=0)

    stop_between_batches([stuck, query], limit_s=60)

    assert query.stopped_at == 1


def test_a_query_is_stopped_when_its_batch_is_done() -> None:
    query = BatchQuery(active_for=3)

    is_orderly = stop_between_batches([query], limit_s=60)

    assert (is_orderly, query.stopped_at) == (True, 4)


def test_a_query_that_never_pauses_is_stopped_at_the_end_of_a_batch() -> None:
    query = BatchQuery(active_for=3, has_pauses=False)

    is_orderly = stop_between_batches([query], limit_s=60)

    assert (is_orderly, query.stopped_at) == (True, 4)


def test_a_batch_that_takes_too_long_is_cancelled() -> None:
    query, other = BatchQuery(active_for=10**9), BatchQuery(active_for=0)

    is_orderly = stop_between_batches([query, other], limit_s=0.05)

    assert (is_orderly, query.isActive, other.isActive) == (False, False, False)
