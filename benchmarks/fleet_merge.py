"""How work on the lake grows with the table: the same at a million rows, and at many million.

A day holds a million rows, so 100 million are a hundred days. A batch touches the last of them,
with new rows and resends; compaction follows some batches; a device is erased that sent on the last
day alone. Writes ``merge_growth``, ``compaction_growth``, ``erase_growth`` and what they are made
of into a JSON file, and leaves what else is there.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
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
from glue_jobs.lake.upkeep import compacted, erased
from local.checkout import ROOT
from local.spark.jobs import LocalLake

BENCH: Final = ROOT / "build" / "bench"
ROWS_A_DAY: Final = 1_000_000
BATCH_ROWS: Final = 50_000
RESENT_SHARE: Final = 5
"""Every fifth row of a batch is there already."""

ROUNDS: Final = 7
WARM_UPS: Final = 5
UPKEEP_ROUNDS: Final = 3
BATCHES_TO_COMPACT: Final = 3
ROWS_TO_ERASE: Final = 1_000
FIRST_DAY_MS: Final = 20_000 * DAY_MS


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=BENCH / "fleet_merge.json")
    arguments.add_argument("--days", type=int, default=100, help="of a million rows each")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=BENCH) as folder:
        session = _session(LocalLake(Path(folder)))
        numbers = _measured(session, Path(folder), given.days)
        session.stop()
    sys.stdout.write(write_numbers(given.output, numbers))


def _measured(session: SparkSession, folder: Path, days: int) -> dict[str, float]:
    """The large table comes first: whatever is not warmed up by then would favour the small one."""
    for day in range(days):
        _fill(session, day)
    lake_bytes = sum(one.stat().st_size for one in folder.rglob("*.parquet"))
    last = days - 1
    _merge_s(session, "warm-up", last, rounds=WARM_UPS)
    large = _Taken.of(session, "large", last)
    session.sql(f"DROP TABLE {table_name(session, EVENTS)}")
    ensure_table(session, EVENTS)
    _fill(session, last)
    _merge_s(session, "warm-up-again", last, rounds=1)
    small = _Taken.of(session, "small", last)
    return {
        "merge_growth": round(large.merge_s / small.merge_s, 3),
        "compaction_growth": round(large.compaction_s / small.compaction_s, 3),
        "erase_growth": round(large.erase_s / small.erase_s, 3),
        "lake_gb": round(lake_bytes / 1e9, 1),
        "merge_batch_rows": BATCH_ROWS,
        **small.named(1),
        **large.named(days),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """Seconds that work on one table took: medians."""

    merge_s: float
    compaction_s: float
    erase_s: float

    @classmethod
    def of(cls, session: SparkSession, name: str, day: int) -> "_Taken":
        merge_s, compaction_s, erase_s = _merge_s(session, name, day, rounds=ROUNDS), [], []
        for number in range(UPKEEP_ROUNDS):
            device = f"gone-{number}"
            _append(_events(session, device, day, first=0, count=ROWS_TO_ERASE, device=device))
            _merge_s(session, f"{name}-{number}", day, rounds=BATCHES_TO_COMPACT)
            compaction_s.append(_seconds(partial(compacted, session, EVENTS)))
            erase_s.append(_seconds(partial(erased, session, EVENTS, device_id=device)))
        return cls(merge_s=merge_s, compaction_s=median(compaction_s), erase_s=median(erase_s))

    def named(self, millions: int) -> dict[str, float]:
        return {
            f"{name.removesuffix('_s')}_{millions}m_rows_s": round(seconds, 3)
            for name, seconds in asdict(self).items()
        }


def _seconds(work: Callable[[], str]) -> float:
    began_s = time.perf_counter()
    done = work()
    took_s = time.perf_counter() - began_s
    sys.stderr.write(f"{took_s:.1f} s: {done}\n")
    return took_s


def _fill(session: SparkSession, day: int) -> None:
    _append(_events(session, "old", day, first=0, count=ROWS_A_DAY))


def _append(rows: DataFrame) -> None:
    rows.select(*EVENTS.column_names).writeTo(table_name(rows.sparkSession, EVENTS)).append()


def _merge_s(session: SparkSession, name: str, day: int, *, rounds: int) -> float:
    """The median of some batches, each new; how long its rows take to make is not counted."""
    logs = {table: TableLog(session, table) for table in (EVENTS, REPEATS)}
    took_s = []
    for number in range(rounds):
        batch = Batch(query=name, number=number)
        rows = _batch(session, name, day, number).persist()
        rows.count()
        began_s = time.perf_counter()
        merge_events(rows, *(_target(logs[table], batch) for table in (EVENTS, REPEATS)))
        took_s.append(time.perf_counter() - began_s)
        rows.unpersist()
    return median(took_s)


def _target(log: TableLog, batch: Batch) -> Target:
    return Target(table=log.table, log=log, batch=batch, check=lambda: None)


def _batch(session: SparkSession, name: str, day: int, number: int) -> DataFrame:
    resent = BATCH_ROWS // RESENT_SHARE
    old = _events(session, "old", day, first=number * resent, count=resent)
    new = _events(session, f"{name}-{number}", day, first=0, count=BATCH_ROWS - resent)
    return old.unionByName(new)


def _events(
    session: SparkSession, name: str, day: int, *, first: int, count: int, device: str | None = None
) -> DataFrame:
    at_ms = F.lit(FIRST_DAY_MS + day * DAY_MS) + F.col("id") % DAY_MS
    raw_id = F.concat(F.lit("1"), F.md5(F.concat(F.lit(f"{name}-{day}-"), F.col("id"))))
    return session.range(first, first + count, 1, 2).select(
        F.lit("gps").alias("stream"),
        F.timestamp_millis(at_ms).cast("date").alias("day"),
        F.concat(raw_id, F.lit("-0")).alias("id"),
        raw_id.alias("raw_id"),
        (F.lit(device) if device else F.concat(F.lit("d-"), F.col("id") % 20_000)).alias(
            "device_id"
        ),
        at_ms.alias("arrival_ms"),
        F.lit("ok").alias("time_quality"),
        F.lit("json@1").alias("parser"),
        F.lit(0).alias("revision"),
        F.format_string('{"lat":47.%d,"lon":8.%d}', "id", F.col("id") * 7).alias("data"),
        at_ms.alias("event_ms"),
        at_ms.alias("lake_ms"),
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
