"""What the jobs ask of Kafka as they read."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fleetlane.events.job_arguments import JobArguments, KafkaSecurity
from glue_jobs.kafka.source_and_sink import FETCH_WAIT_MS, raw_records

pytestmark = pytest.mark.spark


def options_of(records: DataFrame) -> Any:
    """Of the Kafka source that a query reads."""
    plan = records._jdf.queryExecution().logical()
    while plan.children().nonEmpty():
        plan = plan.children().head()
    return plan.extraOptions()


@pytest.mark.parametrize(
    ("messages_per_batch_max", "wait_ms"), [(100, str(FETCH_WAIT_MS)), (None, None)]
)
def test_a_batch_never_waits_for_what_comes_next_and_real_time_does(
    spark: SparkSession, messages_per_batch_max: int | None, wait_ms: str | None
) -> None:
    arguments = JobArguments(
        kafka_bootstrap_servers="127.0.0.1:1",
        checkpoint_folder="",
        kafka_security=KafkaSecurity.PLAINTEXT,
    )

    records = raw_records(
        spark, arguments, pattern="raw", messages_per_batch_max=messages_per_batch_max
    )

    assert options_of(records).get("kafka.fetch.max.wait.ms") == wait_ms
