"""One Spark session for the tests of this folder, ended with them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from local.servers.localstack import LocalAws
from operations.endpoints import variables_for
from tests.spark.sessions import running_session


@pytest.fixture(scope="package")
def spark(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session whose Python workers reach the local AWS."""
    variables = variables_for(local_aws.client_settings)
    folder = tmp_path_factory.mktemp("workers")
    with running_session(folder, {"spark.master": "local[2]"}, variables) as session:
        yield session
