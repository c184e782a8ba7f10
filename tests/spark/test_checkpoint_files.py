"""Files beside checkpoints are whole, whenever a disk is full or a process killed."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from glue_jobs.engine.checkpoint_notes import HadoopFiles

pytestmark = pytest.mark.spark


def test_a_file_takes_the_place_of_the_one_before_and_is_not_cut_short_in_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = HadoopFiles(spark, tmp_path.as_uri())
    files.write("plan.json", b"before")

    with (tmp_path / "plan.json").open("rb") as before:
        files.write("plan.json", b"now")
        read = before.read()

    assert (read, files.read("plan.json")) == (b"before", b"now")
    assert files.names("") == ["plan.json"]


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_query_begins_whose_first_batch_was_killed_as_it_wrote_its_log(
    spark: SparkSession, tmp_path: Path, log: str
) -> None:
    (tmp_path / log).mkdir()
    (tmp_path / log / ".0.da4680a4.tmp").touch()  # Hadoop renames it once it is whole
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()

    writer = rows.writeStream.format("noop").option("checkpointLocation", tmp_path.as_uri())
    query = writer.trigger(availableNow=True).start()

    query.awaitTermination()
    assert query.lastProgress is not None
    assert query.lastProgress.numInputRows > 0
