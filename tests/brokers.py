"""Kafka brokers of tests' own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.checkout import BROKER_JARS
from local.servers.kafka import KafkaBroker


@contextmanager
def running_broker(folder: Path, **settings: Any) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(folder, jars=BROKER_JARS, **settings)
    broker.start()
    yield broker
    broker.stop()
