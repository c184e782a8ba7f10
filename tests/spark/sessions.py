"""Spark sessions of tests, all of one process in the same JVM, one at a time."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from glue_jobs.engine.session import SESSION_SETTINGS, keep_classes
from local.checkout import ROOT
from local.servers.java import SHORT_LIVED
from local.spark.jobs import PROPERTIES, spark_jars


@contextmanager
def running_session(
    folder: Path, settings: Mapping[str, str], variables: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A local session with these settings on top; ``variables`` are for its Python workers too.

    The first one of a process starts the JVM, whose environment the JVM keeps for all later ones.
    """
    own = {**(variables or {}), "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        of_workers = {f"spark.executorEnv.{name}": value for name, value in own.items()}
        session = _session({**settings, **of_workers})
        yield session
        session.stop()


def _session(own: Mapping[str, str]) -> SparkSession:
    lines = (line for line in PROPERTIES.read_text().splitlines() if not line.startswith("#"))
    settings = {
        **dict(line.split("=", 1) for line in lines),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(SHORT_LIVED),
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.sql.streaming.pollingDelay": "10ms",
    }
    builder: SparkSession.Builder = SparkSession.builder.appName("tests")
    for name, value in {**settings, **SESSION_SETTINGS, **own}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    keep_classes(session)
    return session
