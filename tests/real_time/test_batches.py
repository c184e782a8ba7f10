"""What a batch in real time takes, commits and repeats."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from glue_jobs.parse_lane.real_time.query import ROWS_PER_BATCH, with_markers
from tests.real_time.noting import FAILS, STOPS, Notes, noting
from tests.real_time.queries import (
    REAL_TIME,
    SLOTS,
    Kafka,
    ends,
    in_micro_batches,
    own_session,
    read,
    started,
    wait_until,
)

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

BATCH_S: Final = 3
SWITCHED: Final = {"topic": "switched"}


class Tasks:
    """A query over one topic, whose tasks take notes; it can be started again."""

    def __init__(self, spark: SparkSession, kafka: Kafka, topic: str, folder: Path) -> None:
        self.topic, self.notes = topic, Notes(folder / "notes")
        self._spark, self._kafka, self._checkpoint = spark, kafka, folder / "checkpoint"

    def started(self, *, fails_at_once: bool = False, batch_s: int = BATCH_S) -> StreamingQuery:
        records = read(own_session(self._spark, REAL_TIME), self._kafka, self.topic)
        function = noting(self.notes, fails_at_once=fails_at_once)
        noted = with_markers(records).mapInArrow(function, "value binary")
        return started(noted, self._kafka, self._checkpoint, batch_s=batch_s)

    def batches_begun(self, count: int) -> bool:
        return len(self.notes.of("began")) >= count


def test_a_task_that_gets_no_slot_in_time_reads_nothing_and_fails_nothing(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("starving", partitions=SLOTS + 1)
    for partition in range(SLOTS + 1):
        kafka.send("starving", b"record", partition=partition)
    records = read(own_session(spark, REAL_TIME), kafka, "starving")
    query = started(records, kafka, tmp_path, batch_s=BATCH_S)

    wait_until(lambda: len(query.recentProgress) > 1 or query.exception())
    query.stop()

    assert query.exception() is None
    assert sorted(ends(query, "starving")[-1].values()) == [0, *[1] * SLOTS]


def test_a_failed_task_is_tried_again_from_the_first_record_of_its_batch(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("failing")
    tasks = Tasks(spark, kafka, "failing", tmp_path)
    query = tasks.started()
    for record in (b"before", FAILS, b"behind"):
        kafka.send("failing", record)

    wait_until(lambda: {"0": 3} in ends(query, "failing"))
    query.stop()

    assert query.exception() is None
    assert len(tasks.notes.of("before")) == 2
    assert len(tasks.notes.of("behind")) == 1


def test_a_batch_that_was_stopped_comes_again_from_its_first_record(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("stopped")
    tasks = Tasks(spark, kafka, "stopped", tmp_path)
    query = tasks.started(batch_s=60)  # it is stopped long before
    kafka.send("stopped", b"record")
    wait_until(lambda: tasks.notes.of("record"))
    query.stop()

    query = tasks.started()
    wait_until(lambda: query.recentProgress)
    query.stop()

    assert len(tasks.notes.of("record")) == 2


def test_each_record_comes_at_once_wherever_in_an_arrow_batch_it_lies(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("single")
    tasks = Tasks(spark, kafka, "single", tmp_path)
    query = tasks.started(batch_s=60)  # all of them come long before its end

    for number in range(2 * ROWS_PER_BATCH + 1):
        kafka.send("single", b"record %d" % number)
        wait_until(lambda: tasks.notes.of(f"record {number}"))  # noqa: B023 - it waits at once
    ended = tasks.notes.of("ended")
    query.stop()

    assert ended == []


def test_a_task_that_failed_without_a_record_behind_is_tried_again_in_the_next_batch(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("failing.last")
    tasks = Tasks(spark, kafka, "failing.last", tmp_path)
    query = tasks.started()
    for record in (b"before", FAILS):
        kafka.send("failing.last", record)

    wait_until(lambda: {"0": 2} in ends(query, "failing.last"))
    query.stop()

    assert query.exception() is None
    assert ends(query, "failing.last")[0] == {"0": 0}
    assert len(tasks.notes.of("before")) == 2


def test_what_a_worker_does_not_read_is_committed_all_the_same(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("unread")
    tasks = Tasks(spark, kafka, "unread", tmp_path)
    query = tasks.started()
    for record in (STOPS, b"behind"):
        kafka.send("unread", record)

    wait_until(lambda: {"0": 2} in ends(query, "unread"))
    query.stop()

    assert tasks.notes.of("behind") == []


def test_a_worker_that_fails_before_its_first_record_is_not_noticed_while_none_comes(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("silent")
    tasks = Tasks(spark, kafka, "silent", tmp_path)
    query = tasks.started(fails_at_once=True)

    wait_until(lambda: tasks.batches_begun(2) or query.exception())
    first, second, *_ = tasks.notes.of("began")
    query.stop()

    assert second.at_s - first.at_s > 1


def test_partitions_that_are_added_are_read_from_the_next_batch_on(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("growing.one")
    tasks = Tasks(spark, kafka, "growing[.].*", tmp_path)
    query = tasks.started()
    wait_until(lambda: tasks.batches_begun(1))

    kafka.create("growing.two")
    kafka.send("growing.two", b"record")
    wait_until(lambda: tasks.notes.of("record"))
    query.stop()

    assert len(tasks.notes.of("ended")) <= 2


def test_a_checkpoint_serves_micro_batches_real_time_and_micro_batches_again(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.create("switching", "switched")
    session = own_session(spark, REAL_TIME)
    starts: list[Callable[..., StreamingQuery]] = [in_micro_batches, started, in_micro_batches]

    for sent, start in enumerate(starts, start=1):
        kafka.send("switching", b"record")
        query = start(read(session, kafka, "switching"), kafka, tmp_path, sink=SWITCHED)
        wait_until(lambda: {"0": sent} in ends(query, "switching"))  # noqa: B023 - waited for here
        query.stop()

    assert kafka.end("switched") == 3
