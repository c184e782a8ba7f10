"""The Spark session that every job runs in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

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
    return builder.getOrCreate()
