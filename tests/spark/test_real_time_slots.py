"""A fast lane in real time that a topic more leaves without a slot for each partition."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient

from clients.kafka.topics import KafkaTopics
from fleetlane.events.lanes import LaneTrigger
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.spark.jobs import JobSettings
from tests.brokers import running_broker
from tests.spark.killed_jobs import running_job
from tests.spark.real_time import Pulses, fast_lane, open_pulses, prepared, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

SLOTS: Final = 3
NEW_TOPIC: Final = "raw.fast.stream.later"


@pytest.fixture(scope="module")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One of its own: other tests' topics would take the lane's task slots."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    return prepared(tmp_path, kafka_broker, local_aws)


@pytest.fixture
def fleet(settings: JobSettings) -> Iterator[Pulses]:
    yield from open_pulses(settings)


@pytest.fixture
def later_topic(kafka_broker: KafkaBroker) -> Iterator[Callable[[], object]]:
    """Makes a topic of two partitions, which other tests' lanes are not to find."""
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    yield partial(topics.create_missing, [NEW_TOPIC])
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([NEW_TOPIC])[NEW_TOPIC].result()


@pytest.mark.full_length
def test_a_topic_more_than_there_are_slots_for_has_the_lane_go_on_in_micro_batches(
    settings: JobSettings, fleet: Pulses, later_topic: Callable[[], object]
) -> None:
    log = settings.folder / "spark.log"
    argv = fast_lane(settings, LaneTrigger.REAL_TIME)
    with running_job(settings, *argv, task_slots=SLOTS):
        fleet.wait_for_real_time()
        fleet.send_step()
        wait_until(fleet.has_all)

        later_topic()
        wait_until(lambda: "1 of 4 partitions have no task slot" in log.read_text())
        fleet.send_step()
        wait_until(fleet.has_all)

    assert log.read_text().count("runs in micro-batches") >= 2  # at its start, and now
    assert "ended, and is started again" not in log.read_text()
