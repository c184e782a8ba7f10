"""How a local application's JVM runs is the caller's word, in one piece."""

from pathlib import Path

import pytest

from local.servers.java import LAPTOP, SHORT_LIVED, SparkJvm
from local.spark.home import CLASS_ARCHIVE, shared_spark_home, spark_home
from local.spark.jobs import spark_submit

C1_ALONE = "-XX:TieredStopAtLevel=1"
INTERPRETED = "--conf=spark.sql.codegen.wholeStage=false"


@pytest.mark.parametrize(
    ("jvm", "found"),
    [
        (LAPTOP, (True, True)),
        (SparkJvm(java_options=SHORT_LIVED), (True, False)),
        (SparkJvm(), (False, False)),
    ],
    ids=["laptop", "quick start", "as in AWS"],
)
def test_an_application_gets_the_compilers_and_plans_that_were_asked_for(
    tmp_path: Path, jvm: SparkJvm, found: tuple[bool, bool]
) -> None:
    command = spark_submit(tmp_path, jvm=jvm)

    java_options = next(one for one in command if "spark.driver.extraJavaOptions" in one)
    assert (C1_ALONE in java_options, INTERPRETED in command) == found


def test_a_jvm_with_one_compiler_has_room_for_the_code_of_hours(tmp_path: Path) -> None:
    command = spark_submit(tmp_path, jvm=LAPTOP)

    java_options = next(one for one in command if "spark.driver.extraJavaOptions" in one)
    assert "-XX:ReservedCodeCacheSize=240m" in java_options


@pytest.mark.parametrize(
    ("jvm", "is_shared"), [(LAPTOP, True), (SparkJvm(), False)], ids=["laptop", "as in AWS"]
)
def test_a_laptops_application_starts_with_the_classes_that_the_set_up_archived(
    tmp_path: Path, jvm: SparkJvm, *, is_shared: bool
) -> None:
    assert CLASS_ARCHIVE.exists()

    command = " ".join(spark_submit(tmp_path, jvm=jvm))

    assert (f"-XX:SharedArchiveFile={CLASS_ARCHIVE}" in command) is is_shared


def test_the_shared_home_has_spark_s_jars_however_often_it_is_asked_for() -> None:
    homes = {shared_spark_home() for _ in range(2)}

    assert [(home / "jars").resolve() for home in homes] == [(spark_home() / "jars").resolve()]


def test_a_laptops_application_interprets_its_plans(tmp_path: Path) -> None:
    command = spark_submit(tmp_path)

    assert command == spark_submit(tmp_path, jvm=LAPTOP)
