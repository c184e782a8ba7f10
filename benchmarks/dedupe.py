"""What a batch of ``deduplicate`` costs as the events grow that it remembers, by its own step.

Batches of new events come from Spark's own source of rows and go nowhere, so that Kafka is left
out. Writes milliseconds by events remembered into a JSON file, and what a new event takes beside
one of a query that only copies records, in batches as full as the job has them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from statistics import mean
from typing import Any, Final

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.process_tree import tree_resident_mib
from benchmarks.running.session import java_pid, session_here
from fleetlane.events import headers as ce
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.job_arguments import DeduplicateArguments
from glue_jobs.deduplicate.main import session_with_state, unique_records
from local.checkout import ROOT

BATCH_EVENTS: Final = 100_000
FULL_BATCH_EVENTS: Final[int] = (
    signature(DeduplicateArguments).parameters["dedupe_events_per_batch_max"].default
)
REMEMBERED: Final = (100_000, 1_000_000, 3_000_000, 10_000_000)
WINDOW_S: Final = 3_600
PARTITIONS: Final = 2
AROUND: Final = 8
"""Reported is the mean of so many batches, as every second one joins segments, every fourth more of
them; of the first ones their mean, once a query of ``WARM_UP_BATCHES`` warmed up the JVM."""

WARM_UP_BATCHES: Final = 12


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "dedupe.json")
    output: Path = arguments.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        session = session_here("dedupe", {"spark.local.dir": f"{folder}/scratch"})
        own, running = session_with_state(session, partitions=PARTITIONS), Path(folder)
        _, few_mib = _batches(
            _unique(own, BATCH_EVENTS), running / "warm-up", batches=WARM_UP_BATCHES
        )
        batches, python_mib = _batches(
            _unique(own, BATCH_EVENTS),
            running / "unique",
            batches=REMEMBERED[-1] // BATCH_EVENTS + 2,
        )
        copied, _ = _batches(
            _events(own, FULL_BATCH_EVENTS), running / "copied", batches=WARM_UP_BATCHES
        )
        full, _ = _batches(
            _unique(own, FULL_BATCH_EVENTS), running / "full", batches=WARM_UP_BATCHES
        )
        session.stop()
    found = numbers(batches, python_mib - few_mib, copied=copied, full=full)
    sys.stdout.write(write_numbers(output, found))


type Batches = Sequence[Mapping[str, Any]]


def numbers(
    batches: Batches, python_mib: float, *, copied: Batches, full: Batches
) -> dict[str, Any]:
    """``new_event_us`` is what one takes longer than one that is only copied, of a full batch.

    ``state_mib`` is RocksDB's memory, and what Spark's Python workers have more than at first.
    """
    by_events = {str(events): _around(events, batches) for events in REMEMBERED}
    first, last = by_events[str(REMEMBERED[0])], by_events[str(REMEMBERED[-1])]
    copied_ms, full_ms = (
        mean(one["durationMs"]["triggerExecution"] for one in some[-AROUND:])
        for some in (copied, full)
    )
    return {
        "batch_10m_to_100k": round(last["batch_ms"] / first["batch_ms"], 2),
        "new_event_us": round((full_ms - copied_ms) * 1_000 / FULL_BATCH_EVENTS, 1),
        "state_mib": round(last["memory_mib"] + python_mib),
        "full_batch_events": FULL_BATCH_EVENTS,
        "full_batch_ms": round(full_ms),
        "copied_batch_ms": round(copied_ms),
        "batch_events": BATCH_EVENTS,
        "remembered": by_events,
    }


def _around(events: int, batches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    number = events // BATCH_EVENTS
    near = batches[max(1, number - AROUND + 1) : max(number, AROUND // 2) + 1]
    states = [one["stateOperators"][0] for one in near]
    return {
        "batch_ms": round(mean(one["durationMs"]["triggerExecution"] for one in near)),
        "batch_ms_max": max(one["durationMs"]["triggerExecution"] for one in near),
        "committed_ms": round(mean(one["commitTimeMs"] for one in states)),
        "memory_mib": round(max(one["memoryUsedBytes"] for one in states) / 2**20, 1),
    }


def _unique(session: SparkSession, batch_events: int) -> DataFrame:
    return unique_records(_events(session, batch_events), stream="gps", window_s=WINDOW_S)


def _batches(
    records: DataFrame, folder: Path, *, batches: int
) -> tuple[list[Mapping[str, Any]], float]:
    """The first batches, and the memory of Python's workers then, in MiB."""
    writer = records.writeStream.format("noop").option("checkpointLocation", str(folder))
    query = writer.start()
    found: dict[int, Mapping[str, Any]] = {}
    while len(found) < batches:
        error = query.exception()
        if error is not None:
            raise error
        found |= {one["batchId"]: one for one in _progress(query)}
        time.sleep(0.2)
    python_mib = tree_resident_mib(java_pid(records.sparkSession), with_root=False)
    query.stop()
    return [found[number] for number in sorted(found)], python_mib


def _progress(query: StreamingQuery) -> list[Mapping[str, Any]]:
    return [orjson.loads(one.json) for one in query.recentProgress]


def _events(session: SparkSession, batch_events: int) -> DataFrame:
    """Records as of ``raw_records``, about 400 bytes each, all of different events."""
    rows = (
        session.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", batch_events)
        .option("numPartitions", PARTITIONS)
        .load()
    )
    event = (
        '{"specversion":"1.0","source":"/devices/d-%1$d","type":"gps","rawid":"1%1$032x",'
        '"arrivalmillis":"1762178709123","parser":"json@1","revision":0,"id":"1%1$032x-0",'
        '"timequality":"missing","data":{"lat":47.25,"lon":8.5,"speed_kmh":%1$d}}'
    )
    content_type = F.struct(
        F.lit(ce.CONTENT_TYPE).alias("key"),
        F.lit(CANONICAL_CONTENT_TYPE).cast("binary").alias("value"),
    )
    return rows.select(
        F.col("value").cast("string").cast("binary").alias("key"),
        F.format_string(event, "value").cast("binary").alias("value"),
        F.lit("canonical.gps").alias("topic"),
        F.lit(0).alias("partition"),
        F.col("value").alias("offset"),
        F.array(content_type).alias("headers"),
    )


if __name__ == "__main__":
    main()
