"""Alerts of the jobs, written to ``fleet.alerts``."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import JobArguments
from fleetlane.events.metadata import Alert
from fleetlane.events.topics import FLEET_ALERTS
from glue_jobs.kafka.source_and_sink import with_content_type, written_at_once

_RECORDS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def write_alerts(session: SparkSession, arguments: JobArguments, alerts: Sequence[Alert]) -> None:
    """Write them; blocks until they are durable.

    From Arrow: rows of Python would be one task for each slot, whatever their number.
    """
    rows = [{"topic": FLEET_ALERTS, "key": one.key, "value": one.to_json()} for one in alerts]
    records = session.createDataFrame(pa.Table.from_pylist(rows, schema=_RECORDS))
    written_at_once(with_content_type(records), arguments)
