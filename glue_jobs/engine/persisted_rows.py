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
