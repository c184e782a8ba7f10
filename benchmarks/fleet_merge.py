"""How a merge into the lake grows with the table: the same batch at 1 and at 20 million rows.

A day holds a million rows, so 20 million are twenty days; a batch touches the last of them, with
new rows and resends. Writes ``merge_growth`` and what it is made of into a JSON file, and leaves
what else is there.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.session import session_here
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.tables import EVENTS, REPEATS
from fleetlane.events.times import DAY_MS
from glue_jobs.engine.session import table_name, use_catalog
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.events import merge_events
from glue_jobs.lake.main import ensure_table
from glue_jobs.lake.merging import Target
from glue_jobs.lake.rows import DAY_CLOCK
from local.checkout import ROOT
from local.spark.jobs import LocalLake

ROWS_A_DAY: Final = 1_000_000
DAYS: Final = 20
BATCH_ROWS: Final = 50_000
RESENT_SHARE: Final = 5
"""Every fifth row of a batch is there already."""

ROUNDS: Final = 7
WARM_UPS: Final = 5
FIRST_DAY_MS: Final = 20_000 * DAY_MS


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "bench" / "fleet.json")
    output: Path = arguments.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        session = _session(LocalLake(Path(folder)))
        numbers = _measured(session)
        session.stop()
    sys.stdout.write(write_numbers(output, numbers))


def _measured(session: SparkSession) -> dict[str, float]:
    """The large table comes first: whatever is not warmed up by then would favour the small one."""
    for day in range(DAYS):
        _fill(session, day)
    _merge_s(session, "warm-up", rounds=WARM_UPS)
    large_s = _merge_s(session, "large", rounds=ROUNDS)
    session.sql(f"DROP TABLE {table_name(session, EVENTS)}")
    ensure_table(session, EVENTS)
    _fill(session, DAYS - 1)
    _merge_s(session, "warm-up-again", rounds=1)
    small_s = _merge_s(session, "small", rounds=ROUNDS)
    return {
        "merge_growth": round(large_s / small_s, 3),
        "merge_1m_rows_s": round(small_s, 3),
        "merge_20m_rows_s": round(large_s, 3),
        "merge_batch_rows": BATCH_ROWS,
    }


def _fill(session: SparkSession, day: int) -> None:
    rows = _events(session, "old", day, first=0, count=ROWS_A_DAY)
    rows.select(*EVENTS.column_names).writeTo(table_name(rows.sparkSession, EVENTS)).append()


def _merge_s(session: SparkSession, name: str, *, rounds: int) -> float:
    """The median of some batches, each new; how long its rows take to make is not counted."""
    logs = {table: TableLog(session, table) for table in (EVENTS, REPEATS)}
    took_s = []
    for number in range(rounds):
        batch = Batch(query=name, number=number)
        rows = _batch(session, name, number).persist()
        rows.count()
        began_s = time.perf_counter()
        merge_events(rows, *(_target(logs[table], batch) for table in (EVENTS, REPEATS)))
        took_s.append(time.perf_counter() - began_s)
        rows.unpersist()
    return median(took_s)


def _target(log: TableLog, batch: Batch) -> Target:
    return Target(table=log.table, log=log, batch=batch, check=lambda: None)


def _batch(session: SparkSession, name: str, number: int) -> DataFrame:
    resent = BATCH_ROWS // RESENT_SHARE
    old = _events(session, "old", DAYS - 1, first=number * resent, count=resent)
    new = _events(session, f"{name}-{number}", DAYS - 1, first=0, count=BATCH_ROWS - resent)
    return old.unionByName(new)


def _events(session: SparkSession, name: str, day: int, *, first: int, count: int) -> DataFrame:
    at_ms = F.lit(FIRST_DAY_MS + day * DAY_MS) + F.col("id") % DAY_MS
    raw_id = F.concat(F.lit("1"), F.md5(F.concat(F.lit(f"{name}-{day}-"), F.col("id"))))
    return session.range(first, first + count, 1, 2).select(
        F.lit("gps").alias("stream"),
        F.timestamp_millis(at_ms).cast("date").alias("day"),
        F.concat(raw_id, F.lit("-0")).alias("id"),
        raw_id.alias("raw_id"),
        F.concat(F.lit("d-"), F.col("id") % 20_000).alias("device_id"),
        at_ms.alias("arrival_ms"),
        F.lit("ok").alias("time_quality"),
        F.lit("json@1").alias("parser"),
        F.lit(0).alias("revision"),
        F.format_string('{"lat":47.%d,"lon":8.%d}', "id", F.col("id") * 7).alias("data"),
        at_ms.alias("event_ms"),
        F.lit(None).cast("bigint").alias(DAY_CLOCK),
    )


def _session(lake: LocalLake) -> SparkSession:
    session = session_here("fleet_merge", {"spark.sql.shuffle.partitions": "2"})
    arguments = LakeArguments(
        kafka_bootstrap_servers="none",
        checkpoint_folder="none",
        tables=LakeTables.EVENTS,
        lake_warehouse=lake.warehouse,
        lake_bucket="none",
        payload_bucket="none",
        flows_bucket="none",
        lake_catalog_uri=lake.jdbc_uri,
    )
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=arguments.lake_catalog_uri)
    ensure_table(session, EVENTS)
    ensure_table(session, REPEATS)
    return session


if __name__ == "__main__":
    main()
