"""A Spark session of its own: this mode wants a slot a partition, and more than one try a task."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.real_time.queries import SLOTS
from tests.spark.sessions import running_session


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {"spark.master": f"local[{SLOTS},4]"}
    with running_session(tmp_path_factory.mktemp("real_time"), settings) as session:
        yield session
