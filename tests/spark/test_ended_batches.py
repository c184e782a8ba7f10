"""An ended batch's objects in the JVM are released."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fleetlane.events.job_arguments import FleetMetadataArguments, KafkaSecurity
from glue_jobs.kafka.source_and_sink import in_batches
from tests.spark.real_time import wait_until

pytestmark = pytest.mark.spark


@pytest.fixture
def _no_collections() -> Iterator[None]:
    """Python's own may be minutes apart."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def arguments(tmp_path: Path) -> FleetMetadataArguments:
    return FleetMetadataArguments(
        kafka_bootstrap_servers="none",
        checkpoint_folder=tmp_path.as_uri(),
        kafka_security=KafkaSecurity.PLAINTEXT,
    )


@pytest.mark.usefixtures("_no_collections")
def test_plans_of_ended_batches_are_released(
    spark: SparkSession, arguments: FleetMetadataArguments
) -> None:
    plans, left = list["weakref.ref[object]"](), list[int]()

    def write(rows: DataFrame, _number: int) -> None:
        left.append(sum(plan() is not None for plan in plans))
        plan = rows.where("value % 2 = 0")
        plan.count()
        plans.append(weakref.ref(plan._jdf))

    records = spark.readStream.format("rate").load()
    query = in_batches(records, arguments, name="rate", trigger_ms=100, each=write)
    wait_until(lambda: len(left) >= 3)
    query.stop()

    assert set(left) == {0}


def shuffles(spark: SparkSession) -> set[str]:
    """The files of shuffles that are on the disk."""
    stored = spark.sparkContext._jsc.sc().env().blockManager().diskBlockManager().getAllFiles()
    return {one for one in str(stored.mkString(" ")).split() if "/shuffle_" in one}


@pytest.mark.usefixtures("_no_collections")
def test_shuffles_of_ended_batches_leave_the_disk_once_the_jvm_collects(
    spark: SparkSession, arguments: FleetMetadataArguments
) -> None:
    before, batches = shuffles(spark), list[int]()

    def write(rows: DataFrame, number: int) -> None:
        rows.repartition(2).count()
        batches.append(number)

    records = spark.readStream.format("rate").load()
    query = in_batches(records, arguments, name="shuffled", trigger_ms=100, each=write)
    wait_until(lambda: len(batches) >= 5)
    query.stop()
    written = shuffles(spark) - before
    assert written

    def are_removed() -> bool:
        java: Any = spark.sparkContext._jvm
        java.System.gc()
        return not written & shuffles(spark)

    wait_until(are_removed)
