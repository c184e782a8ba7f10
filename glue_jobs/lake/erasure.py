"""Erasure: one device's rows, out of the tables."""

from collections.abc import Iterable

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import LakeTable
from fleetlane.events.names import checked_device_id


def erased(session: SparkSession, tables: Iterable[LakeTable], device_id: str) -> dict[str, str]:
    """Delete a device's rows; says how many, by table. What tables were before still has them.

    A table that names no devices is left as it is.

    Raises:
        BadNameError: It is no device's id.
    """
    checked_device_id(device_id)
    done = {}
    for table in tables:
        if "device_id" not in table.column_names:
            continue
        rows = session.table(table.full_name).where(F.col("device_id") == device_id).count()
        if rows:
            session.sql(
                f"DELETE FROM {table.full_name} WHERE device_id = :device",  # noqa: S608 - ours
                args={"device": device_id},
            )
        done[table.name] = f"{rows} rows of {device_id} deleted"
    return done
