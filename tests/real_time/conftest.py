"""A Spark session of its own: this mode wants a slot a partition, and more than one try a task."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from pyspark.sql import SparkSession

from local.servers.kafka import KafkaBroker
from tests.real_time.queries import SLOTS, Kafka
from tests.spark.sessions import running_session


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {"spark.master": f"local[{SLOTS},4]"}
    with running_session(tmp_path_factory.mktemp("real_time"), settings) as session:
        yield session


@pytest.fixture(scope="package")
def kafka(kafka_broker: KafkaBroker) -> Iterator[Kafka]:
    """Topics to read from, and one to write to: ``out``."""
    with closing(Kafka(kafka_broker.bootstrap_servers)) as kafka:
        kafka.create("out")
        yield kafka
