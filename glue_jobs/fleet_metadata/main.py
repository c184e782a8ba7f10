"""Job ``fleet_metadata``: all raw lanes to ``fleet.received``, in the JVM alone."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import FleetMetadataArguments
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import raw_pattern
from glue_jobs.engine.session import run
from glue_jobs.fleet_metadata.transforms import as_records, received_rows
from glue_jobs.kafka.source_and_sink import (
    QueryPlan,
    raw_records,
    with_content_type,
    written_to_kafka,
)


def start(session: SparkSession, arguments: FleetMetadataArguments) -> StreamingQuery:
    """Start the job's one query; returns at once."""
    plan = QueryPlan(name="fleet_metadata", trigger_ms=arguments.metadata_trigger_ms)
    return written_to_kafka(metadata_records(session, arguments), arguments, plan=plan)


def metadata_records(session: SparkSession, arguments: FleetMetadataArguments) -> DataFrame:
    """What the query writes: a record of ``fleet.received`` for each first attempt."""
    raw = raw_records(
        session,
        arguments,
        pattern=raw_pattern(*Lane),
        messages_per_batch_max=arguments.metadata_messages_per_batch_max,
    )
    return with_content_type(as_records(received_rows(raw)))


if __name__ == "__main__":
    run("fleet_metadata", start, FleetMetadataArguments)
