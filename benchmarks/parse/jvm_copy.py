"""Spark's floor: every raw record copied by the JVM alone. Run by spark-submit."""

import sys
from collections.abc import Sequence
from typing import Final

from pyspark.sql import functions as F

from benchmarks.parse.spark_arguments import SparkArguments
from glue_jobs.engine.session import spark_session
from glue_jobs.kafka.source_and_sink import QueryPlan, raw_records, written_to_kafka

COPIES_TOPIC: Final = "copies"
PATTERN: Final = r"raw\.standard"


def main(argv: Sequence[str]) -> None:
    arguments = SparkArguments.from_argv(argv)
    session = spark_session("jvm_copy")
    raw = raw_records(
        session, arguments, pattern=PATTERN, messages_per_batch_max=arguments.messages_per_batch_max
    )
    copies = raw.select(F.lit(COPIES_TOPIC).alias("topic"), "key", "value", "headers")
    plan = QueryPlan(name="jvm_copy", pattern=PATTERN, trigger_ms=arguments.trigger_ms)
    written_to_kafka(copies, arguments, plan=plan).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
