"""Ended batches leave nothing in the JVM; an error that ends a query is in its lineage."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fleetlane.events.job_arguments import FleetMetadataArguments, KafkaSecurity
from glue_jobs.kafka.query_runs import wait_for_ends
from glue_jobs.kafka.source_and_sink import QueryPlan, in_batches
from tests.lineage import check_run_event, events_in, written_lineage
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


def plan_of(name: str) -> QueryPlan:
    return QueryPlan(name=name, pattern="none", trigger_ms=100)


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
    query = in_batches(records, arguments, plan=plan_of("rate"), each=write)
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
    query = in_batches(records, arguments, plan=plan_of("shuffled"), each=write)
    wait_until(lambda: len(batches) >= 5)
    query.stop()
    written = shuffles(spark) - before
    assert written

    def are_removed() -> bool:
        java: Any = spark.sparkContext._jvm
        java.System.gc()
        return not written & shuffles(spark)

    wait_until(are_removed)


def test_an_error_that_ends_a_query_is_in_its_lineage_without_what_it_was_about(
    spark: SparkSession, arguments: FleetMetadataArguments, tmp_path: Path
) -> None:
    def write(rows: DataFrame, _number: int) -> None:
        rows.selectExpr("cast(concat('secret', value) as int)").collect()

    with written_lineage(tmp_path / "lineage.json"):
        records = spark.readStream.format("rate").load()
        query = in_batches(records, arguments, plan=plan_of("broken"), each=write)
        wait_until(lambda: not query.isActive)
        wait_for_ends(60)

    started, ended = events_in(tmp_path / "lineage.json")
    message = ended["run"]["facets"]["errorMessage"]["message"]
    assert (started["eventType"], ended["eventType"]) == ("START", "FAIL")
    assert message.startswith("StreamingQueryException: ")
    assert "secret" not in message
    for event in (started, ended):
        check_run_event(event)
