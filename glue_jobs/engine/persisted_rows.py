"""Rows that Spark computes once for several uses."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame


@contextmanager
def persisted(rows: DataFrame, level: StorageLevel = StorageLevel.DISK_ONLY) -> Iterator[DataFrame]:
    """Rows that are kept for the block, however it ends: a batch that fails is tried again."""
    try:
        yield rows.persist(level)
    finally:
        rows.unpersist()


@contextmanager
def computed(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows computed once, on disk for the block: no use of them plans or computes them again.

    Persisted rows would be, once another commits to a table that they were read from.
    """
    there = rows.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    try:
        yield there
    finally:
        there._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: FBT003, SLF001 - no other way to it
