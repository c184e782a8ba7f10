"""The laptop's broker keeps what it acknowledged, and its address."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from local.servers.kafka import JavaMissingError, KafkaBroker, KafkaJarsMissingError
from tests.brokers import running_broker

pytestmark = pytest.mark.kafka

JARS = Path(__file__).parents[2] / "build" / "jars" / "broker"
TOPIC = "raw.standard"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with running_broker(tmp_path_factory.mktemp("kafka"), heap_mb=256) as broker:
        yield broker


def produce(broker: KafkaBroker, values: list[bytes]) -> None:
    """Return once the broker has acknowledged every value."""
    refused: list[object] = []
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "acks": "all", "log_level": 0}
    )
    for value in values:
        producer.produce(
            TOPIC,
            value=value,
            on_delivery=lambda error, _: refused.append(error) if error else None,
        )
    assert producer.flush(30) == 0
    assert refused == []


def stored(broker: KafkaBroker, count: int) -> list[bytes | None]:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "test", "log_level": 0}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


def test_records_survive_kill_9_and_a_restart_on_the_same_address(broker: KafkaBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)
    values = [b"%d" % number for number in range(1000)]
    produce(broker, values)
    address_before = broker.bootstrap_servers

    broker.kill()
    broker.start()

    assert (broker.bootstrap_servers, stored(broker, 1000)) == (address_before, values)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has 127.0.0.2 from the start")
def test_the_broker_listens_on_loopback_alone(broker: KafkaBroker) -> None:
    port = int(broker.bootstrap_servers.rpartition(":")[2])

    with socket.create_server(("127.0.0.2", port)) as elsewhere:
        free_elsewhere = elsewhere.getsockname()[1]

    assert free_elsewhere == port


def test_without_java_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("local.servers.kafka._JAVA", "java")

    with pytest.raises(JavaMissingError, match="Kafka needs Java 17"):
        KafkaBroker(tmp_path, jars=JARS).start()


def test_without_jars_one_sentence_says_so(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, jars=tmp_path)

    with pytest.raises(KafkaJarsMissingError, match="no Kafka jars in"):
        broker.start()
