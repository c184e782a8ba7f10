"""A query that hands each of its batches to a function of ours, in the driver."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import JobArguments


def in_batches(
    records: DataFrame,
    arguments: JobArguments,
    *,
    name: str,
    trigger_ms: int,
    each: Callable[[DataFrame, int], None],
) -> StreamingQuery:
    """Start it, with a scheduler pool and a checkpoint folder of its ``name``.

    ``each`` gets a batch and its number. What it raises ends the query; the batch comes again.
    """
    records.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", name)
    return (
        records.writeStream.foreachBatch(each)
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", f"{arguments.checkpoint_folder}/{name}")
        .trigger(processingTime=f"{trigger_ms} milliseconds")
        .start()
    )
