"""The Iceberg catalog of a Spark session, and the lake's tables in it."""

import threading
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import LakeArguments
from fleetlane.events.lake_tables import CATALOG, NAMESPACE, LakeTable

_CATALOG: Final = f"spark.sql.catalog.{CATALOG}"
_CREATING: Final = threading.Lock()
"""Two that look whether the namespace is there, and then make it, do not both succeed."""

_GLUE: Final = {
    "catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
    "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
}
_PROPERTIES: Final = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def use_catalog(session: SparkSession, arguments: LakeArguments) -> None:
    """Make the catalog known to ``session``, and to the queries that are started in it."""
    for name, value in _settings(arguments).items():
        session.conf.set(f"{_CATALOG}{name}", value)


def ensure_table(session: SparkSession, table: LakeTable) -> None:
    """Create ``table`` where it is not there; safe to repeat, and in several threads."""
    with _CREATING:
        _create(session, table)


def _create(session: SparkSession, table: LakeTable) -> None:
    columns = ", ".join(map(str, table.columns))
    properties = ", ".join(f"'{name}'='{value}'" for name, value in _PROPERTIES.items())
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
    session.sql(
        f"CREATE TABLE IF NOT EXISTS {table.full_name} ({columns}) USING iceberg"
        f" PARTITIONED BY ({', '.join(table.partitioned_by)}) TBLPROPERTIES ({properties})"
    )


def _settings(arguments: LakeArguments) -> Mapping[str, str]:
    """Tables are never cached: a session would go on reading a snapshot that is no longer."""
    uri = arguments.lake_catalog_uri
    kind = _GLUE if uri is None else {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1"}
    settings = {**kind, "warehouse": arguments.lake_warehouse, "cache-enabled": "false"}
    dotted = {f".{name}": value for name, value in settings.items()}
    return {"": "org.apache.iceberg.spark.SparkCatalog", **dotted}
