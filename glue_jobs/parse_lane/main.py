"""Job ``parse_lane``: one lane's raw topics to canonical events, or to where else they go."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.events.topics import lane_pattern
from glue_jobs.entry_point import run
from glue_jobs.kafka import QueryPlan, raw_records, with_content_type, written_to_kafka
from glue_jobs.parse_lane.lane_metrics import (
    LaneListener,
    cloudwatch_metrics,
    observing_arrivals,
    observing_outputs,
)
from glue_jobs.parse_lane.output_batches import OUTPUT_SCHEMA
from glue_jobs.parse_lane.parse import now_ms, parsing


def parsed_records(raw: DataFrame, arguments: ParseLaneArguments) -> DataFrame:
    """What comes of every raw record, as records for the topics that they name.

    Needs the columns of ``raw_records``; gives topic, key, value and headers.
    """
    parsed = observing_arrivals(raw).mapInArrow(parsing(arguments), OUTPUT_SCHEMA)
    return with_content_type(observing_outputs(parsed))


def start(session: SparkSession, arguments: ParseLaneArguments) -> StreamingQuery:
    """Start the lane's one query; returns at once."""
    limits, name = arguments.limits, f"parse_lane_{arguments.lane}"
    if arguments.metrics_namespace is not None:
        metrics = cloudwatch_metrics(arguments.metrics_namespace, arguments.lane)
        listener = LaneListener(name, publish=metrics.publish, now_ms=now_ms)
        session.streams.addListener(listener)
    raw = raw_records(
        session,
        arguments,
        pattern=lane_pattern(arguments.lane),
        messages_per_batch_max=limits.messages_per_batch_max,
    )
    plan = QueryPlan(name=name, trigger_ms=limits.trigger_ms)
    return written_to_kafka(parsed_records(raw, arguments), arguments, plan=plan)


if __name__ == "__main__":
    run("parse_lane", start, ParseLaneArguments)
