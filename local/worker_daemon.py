"""Forks Spark's Python workers, with all that they import there already.

A worker imports for most of a CPU second, and a laptop has one for each task slot: eight of them at
once kept its cores from the first messages. Spark's setting ``spark.python.daemon.module`` names
this module; without it, it is ``pyspark.daemon``.
"""

from importlib import import_module
from typing import Final

from pyspark.daemon import manager

OF_WORKERS: Final = ("pandas", "glue_jobs.parse_lane.parse")
"""What PySpark's ``mapInArrow`` wants, and what the lanes run in it."""

if __name__ == "__main__":
    for module in OF_WORKERS:
        import_module(module)
    manager()
