"""Kafka brokers of tests' own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from local.checkout import BROKER_JARS
from local.servers.kafka import KafkaBroker


@contextmanager
def running_broker(folder: Path, **settings: Any) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(folder, jars=BROKER_JARS, **settings)
    broker.start()
    yield broker
    broker.stop()


@contextmanager
def broker_in_process() -> Iterator[tuple[Producer, str]]:
    """The broker that the Kafka client carries for tests: who writes to it, and its address."""
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(producer.list_topics(timeout=5).brokers.values()))
    yield producer, f"{broker.host}:{broker.port}"
    producer.flush(5)
