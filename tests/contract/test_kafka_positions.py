"""Positions in Kafka: a real broker and the fake say the same of the same records and groups."""

import uuid
from collections.abc import Iterator
from typing import Protocol

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from clients.kafka.reader import Partition
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.topics import seen_and_stalled_ms, seen_note
from local.servers.kafka import KafkaBroker
from operations.lanes.status import KafkaPositions, Position, Positions
from tests.unit.operations.memory_positions import MemoryPositions

BEGIN_MS = 1_762_178_709_000


class Cluster(Protocol):
    @property
    def positions(self) -> Positions: ...
    def write(self, topic: str, times_ms: list[int]) -> None: ...
    def commit(self, group: str, partition: Partition, position: Position) -> None: ...


class FakeCluster:
    def __init__(self) -> None:
        self.positions = self._memory = MemoryPositions()

    def write(self, topic: str, times_ms: list[int]) -> None:
        for time_ms in times_ms:
            self._memory.write(topic, str(time_ms).encode(), b"")

    def commit(self, group: str, partition: Partition, position: Position) -> None:
        self._memory.group_positions[group] = {partition: position}


class RealCluster:
    def __init__(self, broker: KafkaBroker) -> None:
        self._servers = broker.bootstrap_servers
        self.positions = KafkaPositions(self._servers, KafkaSecurity.PLAINTEXT)

    def write(self, topic: str, times_ms: list[int]) -> None:
        topics = KafkaTopics(bootstrap_servers=self._servers, partitions=1, replication=1)
        topics.create_missing([topic])
        producer = Producer({"bootstrap.servers": self._servers})
        for time_ms in times_ms:
            producer.produce(topic, key=str(time_ms), value=b"", timestamp=time_ms)
        producer.flush()

    def commit(self, group: str, partition: Partition, position: Position) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers})
        noted = TopicPartition(*partition, position.offset, position.note)
        (altered,) = admin.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, [noted])]
        ).values()
        altered.result()


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    if request.param == "fake":
        yield FakeCluster()
        return
    cluster = RealCluster(request.getfixturevalue("kafka_broker"))
    yield cluster
    cluster.positions.close()


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of one partition with five records, a second apart."""
    name = f"canonical.positions-{uuid.uuid4().hex[:8]}"
    cluster.write(name, [BEGIN_MS + 1_000 * number for number in range(5)])
    return name


def test_a_topic_is_found_by_its_whole_name(cluster: Cluster, topic: str) -> None:
    found = cluster.positions.partitions(topic.replace(".", r"\."))

    assert found == [(topic, 0)]
    assert cluster.positions.partitions(topic[:-1].replace(".", r"\.")) == []


def test_a_topic_s_begin_end_and_times_are_reported(cluster: Cluster, topic: str) -> None:
    at, positions = (topic, 0), cluster.positions

    times = [positions.at_time([at], BEGIN_MS + after)[at] for after in (0, 1_500, 60_000)]

    assert (positions.beginnings([at]), positions.ends([at])) == ({at: 0}, {at: 5})
    assert times == [0, 2, 5]


def test_the_records_between_two_offsets_are_read(cluster: Cluster, topic: str) -> None:
    at = (topic, 0)

    records = list(cluster.positions.read_between({at: 1}, {at: 4}))

    assert [record.offset for record in records] == [1, 2, 3]
    assert list(cluster.positions.read_between({at: 4}, {at: 4})) == []


def test_what_a_group_read_is_reported_with_its_note(cluster: Cluster, topic: str) -> None:
    group = f"fleetlane-{topic}"
    cluster.commit(group, (topic, 0), Position(3, seen_note(BEGIN_MS)))

    found = cluster.positions.groups(group)

    assert {name: list(read) for name, read in found.items()} == {group: [(topic, 0)]}
    assert found[group][topic, 0].offset == 3
    assert seen_and_stalled_ms(found[group][topic, 0].note) == (BEGIN_MS, 0)


def test_nothing_is_asked_where_there_is_nothing(cluster: Cluster) -> None:
    assert (cluster.positions.ends([]), cluster.positions.groups("nobody-")) == ({}, {})
