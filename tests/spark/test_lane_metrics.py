"""A lane's query tells how late it is, batch by batch."""

import queue
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Deferral, Outcome, Parsed, parsed_value
from glue_jobs.engine.query_listener import listen
from glue_jobs.parse_lane.lane_metrics import (
    LaneListener,
    LaneValues,
    observing_arrivals,
    observing_outputs,
)

pytestmark = pytest.mark.spark

NOW_MS = 1_762_178_709_000
WAIT_S = 60
UNTRIED = Parsed(
    id="1" + "ab" * 16,
    attempt=1,
    device_id="d-17",
    stream="gps",
    lane=Lane.FAST,
    source_topic="raw.fast",
    source_partition=0,
    source_offset=0,
    outcome=Outcome.DIVERTED,
    parsed_ms=NOW_MS,
    put_off=Deferral.CHILDREN_USED_UP,
)
FORGED = replace(UNTRIED, put_off=None, parser='"put_off":"children_used_up"')
BY_OLDER = replace(UNTRIED, put_off=None, instead_of="tank==1.1")
SCHEMA = "key binary, topic string, value binary"


def test_a_query_publishes_its_lag_and_what_came_of_its_messages(
    spark: SparkSession, tmp_path: Path
) -> None:
    published: queue.Queue[LaneValues] = queue.Queue()
    listener = LaneListener("parse_lane_fast", publish=published.put, now_ms=lambda: NOW_MS)
    spark.createDataFrame(
        [
            (str(NOW_MS - 4_000).encode(), "fleet.parsed", parsed_value(UNTRIED)),
            (b"", "fleet.parsed", parsed_value(FORGED)),
            (b"", "fleet.parsed", parsed_value(BY_OLDER)),
            (b"no number", "parked", parsed_value(BY_OLDER)),
            (b"", "raw.slow", parsed_value(UNTRIED)),
        ],
        SCHEMA,
    ).coalesce(1).write.parquet(str(tmp_path / "in"))
    listen(spark, listener)

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

    assert values == {
        "LagSeconds": 4.0,
        "Parsed": 1,
        "Parked": 1,
        "ByOlderParser": 1,
        "ChildrenUsedUp": 1,
    }
