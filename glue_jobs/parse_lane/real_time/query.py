"""A lane's query in real time: Spark's trigger, and what makes it hand over each record at once."""

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.events.topic_patterns import output_pattern
from glue_jobs.kafka.source_and_sink import QueryPlan, raw_records, written_to_kafka
from glue_jobs.parse_lane.real_time.workers import parsing_in_real_time
from glue_jobs.parse_lane.results.output_batches import OUTPUT_SCHEMA

ROWS_PER_BATCH: Final = 4
"""Of an Arrow batch, which costs a worker and the JVM 50 us each, however little it has."""

SETTINGS: Final = {  # of the session that queries are started in
    # Python operators are not on Spark's list for this trigger, and work.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # A worker gets an Arrow batch once it is full, and what is written once the buffer is.
    "spark.sql.execution.arrow.maxRecordsPerBatch": f"{ROWS_PER_BATCH}",
    "spark.sql.execution.pandas.udf.buffer.size": "64",
}


def with_markers(records: DataFrame) -> DataFrame:
    """Give each record, in a column ``record``, and nulls behind it.

    Spark ends an Arrow batch only once it knows of a next row: without as many as make a batch,
    each record would wait for the next one of its partition.
    """
    record = F.struct(*records.columns)
    nothing = F.lit(None).cast(records.schema)
    return records.select(F.explode(F.array(record, *[nothing] * ROWS_PER_BATCH)).alias("record"))


def started_in_real_time(
    session: SparkSession, arguments: ParseLaneArguments, *, name: str, pattern: str
) -> StreamingQuery:
    """Start the query in a session with ``SETTINGS``; raises as ``written_to_kafka``."""
    raw = raw_records(session, arguments, pattern=pattern, messages_per_batch_max=None)
    outputs = with_markers(raw).mapInArrow(parsing_in_real_time(arguments), OUTPUT_SCHEMA)
    batch_ms, writes = arguments.real_time_batch_ms, output_pattern()
    plan = QueryPlan(
        name=name, pattern=pattern, trigger_ms=0, real_time_batch_ms=batch_ms, writes=writes
    )
    return written_to_kafka(outputs, arguments, plan=plan)
