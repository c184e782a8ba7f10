"""Has Java archive the classes of Spark, as a session has used them that does what most jobs do.

It is this module twice: the set-up runs it, and it has spark-submit run it.
"""

import os
import subprocess
import sys
import time
from copy import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from local.checkout import ROOT
from local.servers.java import LAPTOP
from local.spark.home import CLASS_ARCHIVE, shared_spark_home
from local.spark.jobs import spark_submit

_BATCHES: Final = 3
_TIMEOUT_S: Final = 300.0
_POLL_S: Final = 0.1


def main() -> None:
    """Without it applications start as they would have: a failure is said, and is none."""
    CLASS_ARCHIVE.unlink(missing_ok=True)
    archiving = f"-XX:ArchiveClassesAtExit={CLASS_ARCHIVE}"
    jvm = replace(LAPTOP, java_options=(*LAPTOP.java_options, archiving))
    with TemporaryDirectory() as folder:
        environment = {
            **os.environ,  # noqa: TID251 - Java is where the set-up looks for it
            "SPARK_HOME": str(shared_spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
        }
        command = [*spark_submit(Path(folder), jvm=jvm), __file__, folder]
        ended = subprocess.run(command, env=environment, check=False, timeout=_TIMEOUT_S)  # noqa: S603
    if ended.returncode != 0 or not CLASS_ARCHIVE.exists():
        sys.stderr.write("Spark's classes were not archived: applications start more slowly\n")


def used_session(folder: Path) -> None:
    """Records through Python, and then an aggregation of each batch."""
    session = SparkSession.builder.getOrCreate()
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    copied = rows.mapInArrow(lambda batches: batches, rows.schema)
    writer = copied.writeStream.foreachBatch(_counted)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    while (last := query.lastProgress) is None or last["batchId"] < _BATCHES:
        time.sleep(_POLL_S)
    query.stop()
    session.stop()


def _counted(batch: DataFrame, _: int) -> None:
    batch.groupBy("value").count().collect()


if __name__ == "__main__":
    if sys.argv[1:]:
        used_session(Path(sys.argv[1]))
    else:
        main()
