"""A Spark session in this process, with the jobs' own settings."""

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from glue_jobs.engine.session import SESSION_SETTINGS
from local.spark.jobs import spark_jars

_NO_MORE: Final[Mapping[str, str]] = MappingProxyType({})
_SLOTS_MAX: Final = 2


def session_here(application: str, settings: Mapping[str, str] = _NO_MORE) -> SparkSession:
    """Start it, with these settings on top; it logs errors alone."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # noqa: TID251 - where PySpark looks
    builder: SparkSession.Builder = SparkSession.builder.appName(application)
    ours = {
        **SESSION_SETTINGS,
        "spark.master": f"local[{min(_SLOTS_MAX, os.cpu_count() or 1)}]",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in {**ours, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def java_pid(session: SparkSession) -> int:
    """The process that runs a session's JVM."""
    java = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way in
    assert java is not None, "the session runs"
    return int(java.java.lang.ProcessHandle.current().pid())
