"""Spark with a row UDF: what a user would write first. Run by spark-submit, with ``--loops N``."""

import sys
from collections.abc import Sequence

from pyspark.sql import Row
from pyspark.sql import functions as F

from benchmarks.parse.jvm_copy import PATTERN
from benchmarks.parse.plain_work import Position, work_with
from benchmarks.parse.spark_arguments import SparkArguments
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecord
from glue_jobs.engine.session import spark_session
from glue_jobs.kafka.source_and_sink import (
    QueryPlan,
    raw_records,
    with_content_type,
    written_to_kafka,
)

_RECORDS = "array<struct<topic: string, key: binary, value: binary>>"
_NO_HEADERS = "array<struct<key: string, value: binary>>"


def main(argv: Sequence[str]) -> None:
    arguments = SparkArguments.from_argv(argv)
    session, loops = spark_session("row_udf"), arguments.loops

    @F.udf(_RECORDS)
    def records_of(
        headers: list[Row], body: bytes | None, topic: str, partition: int, offset: int
    ) -> list[CanonicalRecord]:
        pairs = [
            (header.key, None if header.value is None else bytes(header.value))
            for header in headers
        ]
        position = Position(topic, partition, offset)
        return work_with(loops).records_of(pairs, None if body is None else bytes(body), position)

    raw = raw_records(
        session, arguments, pattern=PATTERN, messages_per_batch_max=arguments.messages_per_batch_max
    )
    columns = ("headers", "value", "topic", "partition", "offset")
    records = raw.select(F.explode(records_of(*columns)).alias("record")).select("record.*")
    ready = with_content_type(records.withColumn("headers", F.lit(None).cast(_NO_HEADERS)))
    plan = QueryPlan(name="row_udf", pattern=PATTERN, trigger_ms=arguments.trigger_ms)
    written_to_kafka(ready, arguments, plan=plan).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
