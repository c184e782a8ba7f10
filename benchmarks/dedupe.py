"""What a batch of ``deduplicate`` costs as the keys grow that it holds, by the job's own step.

Batches of new events come from Spark's own source of rows and go nowhere, so that Kafka is left
out. Writes milliseconds by keys held into a JSON file.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.session import session_here
from glue_jobs.deduplicate.main import session_with_state, unique_records
from local.checkout import ROOT

BATCH_EVENTS: Final = 100_000
KEYS: Final = (100_000, 300_000, 1_000_000, 2_000_000, 3_000_000)
WINDOW_S: Final = 3_600
PARTITIONS: Final = 2
AROUND: Final = 3
"""The median of this many batches is reported, for about the same number of keys."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "dedupe.json")
    output: Path = arguments.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        session = session_here("dedupe", {"spark.local.dir": f"{folder}/scratch"})
        batches = _batches(session, Path(folder))
        session.stop()
    sys.stdout.write(
        write_numbers(output, {"batch_events": BATCH_EVENTS, "keys": by_keys(batches)})
    )


def by_keys(batches: list[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each number of keys: a whole batch, and the look through all keys in it."""
    return {str(keys): _around(keys, batches) for keys in KEYS}


def _around(keys: int, batches: list[Mapping[str, Any]]) -> dict[str, float]:
    near = sorted(batches, key=lambda one: abs(_state(one)["numRowsTotal"] - keys))[:AROUND]
    return {
        "batch_ms": median(one["durationMs"]["triggerExecution"] for one in near),
        "keys_looked_through_ms": median(_state(one)["allRemovalsTimeMs"] for one in near),
        "looked_up_ms": median(_state(one)["allUpdatesTimeMs"] for one in near),
        "committed_ms": median(_state(one)["commitTimeMs"] for one in near),
        "memory_mib": round(median(_state(one)["memoryUsedBytes"] for one in near) / 2**20, 1),
    }


def _state(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    state: Mapping[str, Any] = batch["stateOperators"][0]
    return state


def _batches(session: SparkSession, folder: Path) -> list[Mapping[str, Any]]:
    own = session_with_state(session, partitions=PARTITIONS)
    query = (
        unique_records(_events(own), stream="gps", window_s=WINDOW_S)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    found: dict[int, Mapping[str, Any]] = {}
    while max(map(_keys_held, found.values()), default=0) < KEYS[-1] + BATCH_EVENTS:
        found |= {one["batchId"]: one for one in _progress(query) if one["stateOperators"]}
        time.sleep(0.5)
    query.stop()
    return [found[number] for number in sorted(found)]


def _progress(query: StreamingQuery) -> list[Mapping[str, Any]]:
    return [orjson.loads(one.json) for one in query.recentProgress]


def _keys_held(batch: Mapping[str, Any]) -> int:
    return int(_state(batch)["numRowsTotal"])


def _events(session: SparkSession) -> DataFrame:
    """Records as of ``raw_records``, about 400 bytes each, all of different events."""
    rows = (
        session.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", BATCH_EVENTS)
        .option("numPartitions", PARTITIONS)
        .load()
    )
    event = (
        '{"specversion":"1.0","source":"/devices/d-%1$d","type":"gps","rawid":"1%1$032x",'
        '"arrivalmillis":"1762178709123","parser":"json@1","revision":0,"id":"1%1$032x-0",'
        '"timequality":"missing","data":{"lat":47.25,"lon":8.5,"speed_kmh":%1$d}}'
    )
    return rows.select(
        F.col("value").cast("string").cast("binary").alias("key"),
        F.format_string(event, "value").cast("binary").alias("value"),
        F.lit("canonical.gps").alias("topic"),
        F.lit(0).alias("partition"),
        F.col("value").alias("offset"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
    )


if __name__ == "__main__":
    main()
