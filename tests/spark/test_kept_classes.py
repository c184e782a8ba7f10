"""What PySpark asks the JVM for again and again is looked up in its jars once."""

import pytest
from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", ["PythonUtils", "PythonSQLUtils", "functions"])
def test_a_class_that_is_named_in_part_is_looked_up_once(spark: SparkSession, name: str) -> None:
    jvm = spark.sparkContext._jvm

    assert getattr(jvm, name) is getattr(jvm, name)


def test_what_is_asked_of_each_exception_is_looked_up_once(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None

    assert jvm.py4j.reflection.TypeUtil is jvm.py4j.reflection.TypeUtil
