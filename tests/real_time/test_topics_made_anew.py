"""A topic that is deleted and made again: its query reads it from its beginning, in either mode.

Its offsets begin at 0 again; those of the checkpoint are of the topic before.
"""

from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import FleetMetadataArguments, KafkaSecurity
from fleetlane.events.lanes import LaneTrigger
from glue_jobs.kafka.source_and_sink import TRIGGER_MS_MIN, QueryPlan, raw_records, written_to_kafka
from glue_jobs.parse_lane.real_time.query import with_markers
from tests.real_time.noting import Notes, noting
from tests.real_time.queries import REAL_TIME, Kafka, ends, own_session, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

BATCH_MS: Final = 10_000
"""Enough for a task to fail four times: an attempt that begins after its batch's end fails not."""

MESSAGES_MAX: Final = 1_000
OLD: Final = 3
"""So many records the topic had before."""


class Remade:
    """A query over a topic, as the jobs start theirs, and what its workers got."""

    def __init__(
        self, spark: SparkSession, kafka: Kafka, trigger: LaneTrigger, folder: Path, name: str
    ) -> None:
        self._session, self._kafka = own_session(spark, REAL_TIME), kafka
        self._is_real_time = trigger is LaneTrigger.REAL_TIME
        self._name = f"{name}.{trigger}"
        self.topic, self.notes = f"{self._name}.raw", Notes(folder / "notes")
        self._arguments = FleetMetadataArguments(
            kafka_bootstrap_servers=kafka.servers,
            checkpoint_folder=folder.as_uri(),
            kafka_security=KafkaSecurity.PLAINTEXT,
        )
        kafka.create(self.topic)

    def started(self) -> StreamingQuery:
        messages_max = None if self._is_real_time else MESSAGES_MAX
        records = raw_records(
            self._session, self._arguments, pattern=self.topic, messages_per_batch_max=messages_max
        )
        noted = with_markers(records).mapInArrow(noting(self.notes), "value binary")
        plan = QueryPlan(
            name=self._name,
            pattern=self.topic,
            trigger_ms=0 if self._is_real_time else TRIGGER_MS_MIN,
            real_time_batch_ms=BATCH_MS if self._is_real_time else None,
        )
        outputs = noted.select(F.lit("out").alias("topic"), "value")
        return written_to_kafka(outputs, self._arguments, plan=plan)

    def started_and_done(self) -> StreamingQuery:
        """Start it; all that the topic has is in its checkpoint."""
        query = self.started()
        self.send("old", OLD)
        wait_until(lambda: {"0": OLD} in ends(query, self.topic))
        return query

    def send(self, value: str, count: int) -> None:
        for number in range(count):
            self._kafka.send(self.topic, f"{value} {number}".encode())

    def make_anew(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._kafka.servers})
        admin.delete_topics([self.topic])[self.topic].result()
        self._kafka.create(self.topic)


TRIGGERS: Final = pytest.mark.parametrize("trigger", list(LaneTrigger))


def problem_of(query: StreamingQuery) -> str:
    """Why it ended; waited for."""
    wait_until(query.exception)
    return str(query.exception())


@TRIGGERS
def test_a_topic_made_anew_between_two_starts_is_read_from_its_beginning(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, trigger: LaneTrigger
) -> None:
    remade = Remade(spark, kafka, trigger, tmp_path, "between")
    remade.started_and_done().stop()
    remade.make_anew()
    remade.send("new", OLD + 1)

    query = remade.started()
    wait_until(lambda: query.exception() or remade.notes.of(f"new {OLD}"))
    query.stop()

    assert [len(remade.notes.of(f"new {number}")) for number in range(OLD + 1)] == [1] * (OLD + 1)


@TRIGGERS
def test_a_topic_made_anew_while_it_is_read_is_named_and_then_read_from_its_beginning(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, trigger: LaneTrigger
) -> None:
    remade = Remade(spark, kafka, trigger, tmp_path, "during")
    query = remade.started_and_done()
    remade.make_anew()
    remade.send("new", 1)
    problem = problem_of(query)

    again = remade.started()
    wait_until(lambda: again.exception() or remade.notes.of("new 0"))
    again.stop()

    assert (f"{remade.topic}-0" in problem, len(remade.notes.of("new 0"))) == (True, 1)
