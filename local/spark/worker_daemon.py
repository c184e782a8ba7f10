"""Forks Spark's Python workers, with all that they import and read there already.

A worker imports for most of a CPU second, reads what botocore knows of S3 for as long, and a laptop
has one for each task slot: eight of them at once kept its cores from the first messages. Spark's
setting ``spark.python.daemon.module`` names this module; without it, it is ``pyspark.daemon``.

It forks, so it may have one thread only: libraries that start threads at import are kept from it.
"""

import gc
from importlib import import_module
from runpy import run_module
from typing import Final

from clients.aws import AwsSettings, s3_client
from fleetlane.parsers.registry import installed_parsers

OF_WORKERS: Final = ("pandas", "glue_jobs.parse_lane.real_time.workers")
"""What PySpark's ``mapInArrow`` wants, and what the lanes run in it."""

WITHOUT_THREADS: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""What numpy and pyarrow read when they are imported: settings of the process that starts it."""

if __name__ == "__main__":
    for module in OF_WORKERS:
        import_module(module)
    s3_client(AwsSettings())  # botocore's session keeps what it read for it,
    installed_parsers()  # and importlib what lies in the folders of packages
    gc.freeze()  # so that no worker's collector copies what all share
    run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
