"""The Spark session that every job runs in, its scheduler pools, its catalog and its JVM."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable
from fleetlane.events.lanes import REAL_TIME_LANES, BulkCause

PROMPT_QUERIES: Final = ("parse_lane_fast", "parse_lane_standard", "fleet_metadata", "fleet_watch")
"""Each has one slot before any other query has two. What would wait behind the bulk lane's tasks,
or the lake's, is a device that must be answered, or one that must be held back."""

_REAL_TIME_SHARE: Final = 64
"""More than there are partitions: in real time each has a slot before any other query has more."""

_WEIGHT: Final = 4
_BULK_WEIGHT: Final = 2
"""Of each cause's query in the bulk lane; what is over its flow's budget has half as much."""

_CATALOG: Final = f"spark.sql.catalog.{CATALOG}"
_GLUE: Final = {
    "catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
    "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
}
_JDBC: Final = {
    "type": "jdbc",
    "jdbc.schema-version": "V1",
    # What Iceberg reckons a file costs to open, 4 MiB of data, is S3's price. On a disk it made a
    # task of each four files, and a task costs more than to read them.
    "table-default.read.split.open-file-cost": str(64 << 10),
}
_NAMED_IN_PART: Final = ("PythonUtils", "PythonSQLUtils", "functions", "py4j.reflection.TypeUtil")
_REGION: Final = "AWS_DEFAULT_REGION"
_REGION_OF_WORKERS: Final = f"spark.executorEnv.{_REGION}"
SESSION_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",
    # Limits of a record batch for Python. A flow's messages in one are parsed together.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Read so, each column of each file leaves an allocator behind for ever: Iceberg's issue 13937.
    "spark.sql.iceberg.vectorization.enabled": "false",
    # A repeated header must not end a query: the last one counts.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # A query that stalls and cannot be stopped ends its application instead.
    "spark.sql.streaming.stopTimeout": "60s",
    # A cancelled task that goes on all the same ends its executor (but not a laptop's).
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "60s",
    # Shuffles of ended batches leave the disk once the driver's JVM collects its old objects, which
    # by itself it does each half hour: the lake's filled 600 MiB by then.
    "spark.cleaner.periodicGC.interval": "5min",
    # A driver lives for months; of what ended it keeps a thousand of each for the UI, plans
    # with all their text included.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
}


def spark_session(
    application: str, *, region: str | None = None, shuffle_partitions: int | None = None
) -> SparkSession:
    """The session, with our settings on top of what spark-submit, Glue or EMR gave.

    ``region`` is AWS's for this process, for Python workers and for the lake's catalog.
    """
    settings: dict[str, Any] = dict(SESSION_SETTINGS)
    if region is not None:
        os.environ[_REGION] = region  # noqa: TID251 - where boto3 looks
        settings[_REGION_OF_WORKERS] = region
    if shuffle_partitions is not None:
        settings["spark.sql.shuffle.partitions"] = shuffle_partitions
    with tempfile.TemporaryDirectory() as folder:  # read once, as the session begins
        settings["spark.scheduler.allocation.file"] = written_pools(Path(folder))
        session = SparkSession.builder.appName(application).config(map=settings).getOrCreate()
    keep_classes(session)
    return session


def session_with(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session of the same application, with settings that no other query is to have."""
    own = session.newSession()
    for name, value in settings.items():
        own.conf.set(name, value)
    return own


def keep_classes(session: SparkSession) -> None:
    """Look up once what PySpark otherwise looks up for each list of columns, and each exception.

    What it names in part is looked for in all jars, in ten packages: an eighth of the CPU of a
    lake's application.
    """
    for name in _NAMED_IN_PART:
        place: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way in
        for part in name.split("."):
            found = getattr(place, part)
            setattr(place, part, found)
            place = found


def use_catalog(
    session: SparkSession, *, warehouse: str, uri: str | None, database: str = NAMESPACE
) -> None:
    """Make the catalog known to ``session``, and to the queries that are started in it.

    Without ``uri``, a JDBC address, it is AWS's Glue Data Catalog. The lake's tables are in its
    ``database``. They are never cached: a session would go on reading a snapshot that is no longer.
    """
    kind = _GLUE if uri is None else _JDBC | {"uri": uri}
    settings = {**kind, "warehouse": warehouse, "cache-enabled": "false", "database": database}
    region = session.conf.get(_REGION_OF_WORKERS, None)
    if region is not None:
        settings["client.region"] = region
    session.conf.set(_CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    for name, value in settings.items():
        session.conf.set(f"{_CATALOG}.{name}", value)


def table_name(session: SparkSession, table: LakeTable) -> str:
    """A table's name in SQL: where ``session`` has its lake, catalog and all."""
    return f"{CATALOG}.{session.conf.get(f'{_CATALOG}.database')}.{table.name}"


def iceberg_table(session: SparkSession, table: LakeTable) -> Any:
    """A table as Iceberg's own API has it, read anew."""
    tables = java_class(session, "org.apache.iceberg.spark.Spark3Util")
    return tables.loadIcebergTable(session._jsparkSession, table_name(session, table))  # noqa: SLF001 - PySpark has no other way in


def java_class(session: SparkSession, name: str) -> Any:
    """A class, by its whole name; a ``JavaPackage`` where there is none.

    Asked package by package, the JVM looks for a class named ``org`` in each of hundreds of jars.
    """
    return getattr(session.sparkContext._jvm, name)  # noqa: SLF001 - PySpark has no other way in


def active_queries(session: SparkSession) -> list[StreamingQuery]:
    """All that run in this application: some are of sessions with settings of their own."""
    state = session._jsparkSession.sharedState()  # noqa: SLF001 - PySpark knows one session's alone
    found = state.activeStreamingQueries().values()
    return [StreamingQuery(one) for one in found if one is not None]  # it has just ended


def check_alive(session: SparkSession) -> None:
    """Raise ``SystemExit`` where Spark stopped by itself, as after too many lost executors."""
    if session.sparkContext._jsc.sc().isStopped():  # noqa: SLF001 - PySpark has no other way in
        raise SystemExit("Spark has stopped, so its application ends")


def written_pools(folder: Path) -> str:
    """Write the pools into a folder, as Spark reads them; returns the file's URL.

    A query's pool has its name. One that is not named here has a weight of 1 and no share.
    """
    file = folder / "pools.xml"
    weights = dict.fromkeys((f"parse_lane_bulk.{cause}" for cause in BulkCause), (_BULK_WEIGHT, 0))
    weights |= {"parse_lane_slow": (_BULK_WEIGHT, 1)}  # before what is over there
    weights |= dict.fromkeys(PROMPT_QUERIES, (_WEIGHT, 1))
    weights |= {f"parse_lane_{lane}": (_WEIGHT, _REAL_TIME_SHARE) for lane in REAL_TIME_LANES}
    pools = "".join(
        f'<pool name="{name}"><schedulingMode>FAIR</schedulingMode>'
        f"<weight>{weight}</weight><minShare>{share}</minShare></pool>"
        for name, (weight, share) in weights.items()
    )
    file.write_text(f"<allocations>{pools}</allocations>\n")
    return file.as_uri()
