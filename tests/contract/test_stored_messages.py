"""The messages of a stream that are in Kafka, as ``parser diff --from raw|parked`` takes them."""

import time
import uuid
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import Producer

from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from local.servers.kafka import KafkaBroker
from operations.messages.stores import StoredRecords, latest_records
from tests.brokers import running_broker

pytestmark = pytest.mark.kafka

type Stored = tuple[str, str, bytes]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One of its own: what is written here would be others' messages to parse."""
    with running_broker(tmp_path_factory.mktemp("kafka"), heap_mb=256) as broker:
        yield broker


def store(broker: KafkaBroker, messages: list[Stored]) -> None:
    """Write messages, each with its topic, stream and body, a millisecond after another."""
    topics = KafkaTopics(bootstrap_servers=broker.bootstrap_servers, partitions=2, replication=1)
    topics.create_missing({topic for topic, _, _ in messages})
    now_ms, refused = int(time.time() * 1000), list[object]()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number, (topic, stream, body) in enumerate(messages):
        producer.produce(
            topic,
            value=body,
            headers=[("ce_type", stream.encode())],
            timestamp=now_ms + number,
            on_delivery=lambda error, _: refused.append(error) if error else None,
        )
    assert (producer.flush(60), refused) == (0, [])


def records(broker: KafkaBroker) -> StoredRecords:
    return StoredRecords(partial(KafkaReader, broker.bootstrap_servers))


@pytest.mark.parametrize(("where", "topic"), [("raw", "raw.standard"), ("parked", "parked")])
def test_the_latest_of_a_stream_are_given_in_order(
    broker: KafkaBroker, where: str, topic: str
) -> None:
    ours, other = f"s-{uuid.uuid4().hex}", f"s-{uuid.uuid4().hex}"
    store(broker, [(topic, ours if n % 2 else other, b"%d" % n) for n in range(10)])

    found = latest_records(records(broker), where, ours, records_max=3)

    assert [record.value for record in found] == [b"5", b"7", b"9"]


def test_every_lane_and_strategy_is_raw(broker: KafkaBroker) -> None:
    ours = f"s-{uuid.uuid4().hex}"
    topics = ["raw.fast", "raw.slow", f"raw.standard.stream.{ours}", "raw.slow.type.valve"]
    store(broker, [(topic, ours, topic.encode()) for topic in [*topics, "parked"]])

    found = latest_records(records(broker), "raw", ours, records_max=10)

    assert [record.topic for record in found] == topics
