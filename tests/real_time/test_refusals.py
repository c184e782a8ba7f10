"""What Spark refuses in real time, and where it is asked for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from glue_jobs.engine.session import java_class
from glue_jobs.parse_lane.real_time.query import with_markers
from tests.real_time.noting import Notes, noting
from tests.real_time.queries import (
    ALLOWLIST,
    BATCH_MS_MIN,
    REAL_TIME,
    TRIGGERS,
    Kafka,
    own_session,
    read,
    started,
)

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ENDS_S = 60
TOPIC = "refused"


@pytest.fixture(autouse=True)
def refused(kafka: Kafka) -> None:
    kafka.create(TOPIC)


def refusal(records: DataFrame, kafka: Kafka, folder: Path, **options: Any) -> str:
    """Why a query could not be started, or ended by itself."""
    with pytest.raises((PySparkException, Py4JError)) as problem:
        started(records, kafka, folder, **options).awaitTermination(ENDS_S)
    return str(problem.value)


def test_the_trigger_is_reached_by_py4j(spark: SparkSession) -> None:
    trigger = java_class(spark, TRIGGERS).RealTime("5 seconds")

    assert "RealTimeTrigger" in trigger.toString()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"maxOffsetsPerTrigger": 5}, "maxOffsetsPerTrigger is not compatible with real time"),
        ({"minPartitions": 5}, "minpartitions is not compatible with real time"),
    ],
)
def test_a_source_with_limits_is_refused(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, options: Mapping[str, Any], sentence: str
) -> None:
    records = read(own_session(spark, REAL_TIME), kafka, TOPIC, options)

    assert sentence in refusal(records, kafka, tmp_path)


def test_append_mode_is_refused(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    records = read(own_session(spark, REAL_TIME), kafka, TOPIC)

    problem = refusal(records, kafka, tmp_path, output_mode="append")

    assert "STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED" in problem


def test_progress_beside_the_batches_is_refused(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    records = read(own_session(spark, REAL_TIME), kafka, TOPIC)

    sink = {"topic": "out", "asyncProgressTrackingEnabled": "true"}
    problem = refusal(records, kafka, tmp_path, sink=sink)

    assert "STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED" in problem


def test_batches_last_five_seconds_at_least_where_nothing_else_is_set(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    settings = {name: value for name, value in REAL_TIME.items() if name != BATCH_MS_MIN}
    records = read(own_session(spark, settings), kafka, TOPIC)

    problem = refusal(records, kafka, tmp_path, batch_s=4)

    assert "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL" in problem
    assert "5000" in problem


def test_python_is_refused_unless_the_list_of_operators_is_not_looked_at(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    records = read(own_session(spark, {**REAL_TIME, ALLOWLIST: "true"}), kafka, TOPIC)
    function = noting(Notes(tmp_path / "notes"))
    noted = with_markers(records).mapInArrow(function, "value binary")

    problem = refusal(noted, kafka, tmp_path / "checkpoint")

    assert "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST" in problem
    assert "MapInArrowExec" in problem
