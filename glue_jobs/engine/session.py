"""The Spark session that every job runs in, its scheduler pools, its catalog and its JVM."""

import os
import tomllib
from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable

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
SESSION_SETTINGS: Final[Mapping[str, str]] = tomllib.loads(
    files(__package__).joinpath("session.toml").read_text(encoding="utf-8")
)


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
    with as_file(files(__package__).joinpath("pools.xml")) as pools:  # read as the session begins
        settings["spark.scheduler.allocation.file"] = pools.as_uri()
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

    What it names in part is looked for in all jars: an eighth of a lake's application's CPU.
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
