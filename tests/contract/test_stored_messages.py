"""The messages of a stream that stand in Kafka, as ``parser diff --from raw|parked`` takes them."""

import uuid

import pytest
from confluent_kafka import Producer

from local.kafka import KafkaBroker
from local.stored_messages import latest_records

pytestmark = pytest.mark.kafka

type Stored = tuple[str, str, bytes]


def store(broker: KafkaBroker, messages: list[Stored]) -> None:
    """Write messages, each with its topic, stream and body, at times one after another."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number, (topic, stream, body) in enumerate(messages, start=1):
        producer.produce(
            topic, key=b"1", value=body, headers=[("ce_type", stream.encode())], timestamp=number
        )
    assert producer.flush(60) == 0


@pytest.mark.parametrize(("where", "topic"), [("raw", "raw.standard"), ("parked", "parked")])
def test_the_latest_of_a_stream_are_given_in_order(
    kafka_broker: KafkaBroker, where: str, topic: str
) -> None:
    ours, other = f"s-{uuid.uuid4().hex}", f"s-{uuid.uuid4().hex}"
    store(kafka_broker, [(topic, ours if n % 2 else other, b"%d" % n) for n in range(10)])

    found = latest_records(kafka_broker.bootstrap_servers, where, ours, records_max=3)

    assert [record.value for record in found] == [b"5", b"7", b"9"]


def test_every_lane_and_strategy_is_raw(kafka_broker: KafkaBroker) -> None:
    ours = f"s-{uuid.uuid4().hex}"
    topics = ["raw.fast", "raw.slow", f"raw.standard.stream.{ours}", "raw.slow.type.valve"]
    store(kafka_broker, [(topic, ours, topic.encode()) for topic in [*topics, "parked"]])

    found = latest_records(kafka_broker.bootstrap_servers, "raw", ours, records_max=10)

    assert [record.topic for record in found] == topics
