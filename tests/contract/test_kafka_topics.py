"""Creating topics: the fake and a real broker keep the same promises."""

from collections.abc import Iterable
from typing import Protocol

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from clients.kafka.topics import KafkaTopics, TopicsNotCreatedError
from local.servers.kafka import KafkaBroker
from tests.unit.lambdas.fakes import FakeKafka


class Topics(Protocol):
    def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]: ...


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def topics(request: pytest.FixtureRequest) -> Topics:
    if request.param == "fake":
        return FakeKafka([])
    broker: KafkaBroker = request.getfixturevalue("kafka_broker")
    return KafkaTopics(bootstrap_servers=broker.bootstrap_servers, partitions=2, replication=1)


def test_missing_topics_are_created_and_named_in_order(topics: Topics) -> None:
    created = topics.create_missing(["canonical.topics-b", "canonical.topics-a"])

    assert created == ("canonical.topics-a", "canonical.topics-b")


def test_topics_that_exist_are_left_as_they_are(topics: Topics) -> None:
    topics.create_missing(["canonical.topics-c"])

    assert topics.create_missing(["canonical.topics-c"]) == ()


@pytest.mark.kafka
def test_a_new_topic_has_the_partitions_and_limits_of_its_kind(kafka_broker: KafkaBroker) -> None:
    servers, topic = kafka_broker.bootstrap_servers, "raw.slow.stream.topics"

    KafkaTopics(bootstrap_servers=servers, partitions=3, replication=1).create_missing([topic])

    assert _partitions(servers, topic) == 3
    assert _settings(servers, topic, "retention.ms") == str(3 * 24 * 60 * 60 * 1000)


@pytest.mark.kafka
def test_a_cluster_without_room_for_more_partitions_gets_none(kafka_broker: KafkaBroker) -> None:
    servers = kafka_broker.bootstrap_servers
    few = KafkaTopics(bootstrap_servers=servers, partitions=3, replication=1, replicas_max=2)

    with pytest.raises(TopicsNotCreatedError, match=r"3 more are needed; the limit is 2"):
        few.create_missing(["canonical.topics-no-room"])

    admin = AdminClient({"bootstrap.servers": servers})
    assert "canonical.topics-no-room" not in admin.list_topics(timeout=10).topics


def test_a_broker_that_does_not_answer_is_said_to_be_so() -> None:
    topics = KafkaTopics(bootstrap_servers="127.0.0.1:1", partitions=1, replication=1)

    with pytest.raises(TopicsNotCreatedError, match=r"raw\.fast"):
        topics.create_missing(["raw.fast"], timeout_s=0.2)


def _partitions(bootstrap_servers: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    return len(admin.list_topics(topic, timeout=10).topics[topic].partitions)


def _settings(bootstrap_servers: str, topic: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = admin.describe_configs([resource]).values()
    value = future.result(timeout=10)[name].value
    assert isinstance(value, str)
    return value
