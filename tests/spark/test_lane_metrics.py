"""A lane's query tells how late it is, batch by batch."""

import queue
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from glue_jobs.parse_lane.lane_metrics import (
    LaneListener,
    LaneValues,
    observing_arrivals,
    observing_outputs,
)

pytestmark = pytest.mark.spark

NOW_MS = 1_762_178_709_000
WAIT_S = 60
SCHEMA = "key binary, topic string, value binary"


def test_a_query_publishes_its_lag_and_what_came_of_its_messages(
    spark: SparkSession, tmp_path: Path
) -> None:
    published: queue.Queue[LaneValues] = queue.Queue()
    listener = LaneListener("parse_lane_fast", publish=published.put, now_ms=lambda: NOW_MS)
    spark.createDataFrame(
        [
            (str(NOW_MS - 4_000).encode(), "fleet.parsed", b'{"instead_of":"tank==1.1","id":"1"}'),
            (b"no number", "parked", b"bytes"),
        ],
        SCHEMA,
    ).coalesce(1).write.parquet(str(tmp_path / "in"))
    spark.streams.addListener(listener)

    records = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    query = (
        observing_outputs(observing_arrivals(records))
        .writeStream.format("noop")
        .queryName("parse_lane_fast")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    values = published.get(timeout=WAIT_S)
    query.awaitTermination()
    spark.streams.removeListener(listener)

    assert values == {"LagSeconds": 4.0, "Parsed": 0, "Parked": 1, "ByOlderParser": 1}
