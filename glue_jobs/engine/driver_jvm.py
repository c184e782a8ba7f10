"""The driver's JVM, through which its classes can be called."""

from typing import Any

from pyspark.sql import SparkSession


def java_class(session: SparkSession, name: str) -> Any:
    """A class, by its whole name; a ``JavaPackage`` where there is none.

    Asked package by package, the JVM looks for a class named ``org`` in each of hundreds of jars.
    """
    return getattr(session.sparkContext._jvm, name)  # noqa: SLF001 - PySpark has no other way in
