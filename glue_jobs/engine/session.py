"""The Spark session that every job runs in."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from glue_jobs.engine.scheduler_pools import written_pools

SESSION_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.sql.session.timeZone": "UTC",
        "spark.scheduler.mode": "FAIR",
        # A record batch crosses to Python once it has this many rows or bytes.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        # A repeated header must not end a query: the last one counts.
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    }
)


def spark_session(application: str) -> SparkSession:
    """The session, with our settings on top of what spark-submit, Glue or EMR gave."""
    builder: SparkSession.Builder = SparkSession.builder.appName(application)
    for name, value in SESSION_SETTINGS.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryDirectory() as folder:  # read once, as the session begins
        builder = builder.config("spark.scheduler.allocation.file", written_pools(Path(folder)))
        return builder.getOrCreate()
