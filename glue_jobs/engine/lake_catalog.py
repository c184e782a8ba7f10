"""The Iceberg catalog of a Spark session: the lake's job writes its tables, others may read."""

from typing import Final

from pyspark.sql import SparkSession

from fleetlane.events.lake.tables import CATALOG

_CATALOG: Final = f"spark.sql.catalog.{CATALOG}"
_GLUE: Final = {
    "catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
    "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
}


def use_catalog(session: SparkSession, *, warehouse: str, uri: str | None) -> None:
    """Make the catalog known to ``session``, and to the queries that are started in it.

    Without ``uri``, a JDBC address, it is AWS's Glue Data Catalog. Tables are never cached: a
    session would go on reading a snapshot that is no longer.
    """
    kind = _GLUE if uri is None else {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1"}
    settings = {**kind, "warehouse": warehouse, "cache-enabled": "false"}
    session.conf.set(_CATALOG, "org.apache.iceberg.spark.SparkCatalog")
    for name, value in settings.items():
        session.conf.set(f"{_CATALOG}.{name}", value)
