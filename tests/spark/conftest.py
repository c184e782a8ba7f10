"""One Spark session for the tests of this folder, ended with them."""

import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from glue_jobs.engine.session import SESSION_SETTINGS
from local.checkout import ROOT
from local.servers.java import SHORT_LIVED
from local.servers.localstack import LocalAws
from local.spark.jobs import QUICK_CHECKPOINTS, spark_jars
from operations.endpoints import variables_for


@pytest.fixture(scope="package")
def spark(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session whose Python workers reach the local AWS."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables_for(local_aws.client_settings).items():
            patch.setenv(name, value)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("workers")))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = _session()
        yield session
        session.stop()


def _session() -> SparkSession:
    settings = {
        **QUICK_CHECKPOINTS,
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(SHORT_LIVED),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    builder: SparkSession.Builder = SparkSession.builder.appName("tests")
    for name, value in {**settings, **SESSION_SETTINGS}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
