"""Whether the lake takes in what the standard lane gives it: events a second beside messages.

Both on the same task slots, one after the other, from Kafka: first the standard application's jobs
work off a backlog, then the lake's queries work off what came of it. Each rate leaves out its
application's start.
"""

import argparse
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.kept_numbers import write_numbers
from benchmarks.parse.workload import EVENTS as EVENTS_A_MESSAGE
from benchmarks.parse.workload import PARTITIONS
from benchmarks.running.application import TASK_SLOTS, running
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import deploy_parser, flow_of, land_all, message_for
from benchmarks.running.services import BUCKET, Services, services
from benchmarks.running.telling import tell
from benchmarks.running.watched import Watched
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import CATALOG, EVENTS, RECEIVED, LakeTable
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED, canonical_topic
from infra.constructs.jobs.spark_applications import LAKE_RECORDS_PER_WORKER
from local.spark.jobs import LocalLake

STREAM: Final = "bench"
STANDARD: Final = "parse_lane --lane standard; fleet_metadata"
STARTED_SHARE: Final = 0.2
"""The first fifth has the start in it, and much of what Java compiles."""

_WAIT_MS: Final = 5_000
_SECONDS_MAX: Final = 1_800.0


def main() -> None:
    arguments = _arguments()
    with emptied(arguments.folder) as folder, services(folder) as ready:
        standard = standard_rate(ready, folder / "standard", arguments.messages)
        lake = lake_rate(ready, folder, arguments.messages * EVENTS_A_MESSAGE)
    numbers = {
        "task_slots": TASK_SLOTS,
        "messages": arguments.messages,
        "standard_messages_per_s": round(standard),
        "lake_events_per_s": round(lake),
        "lake_events_to_standard_messages": round(lake / standard, 3),
        "lake_events_to_standard_events": round(lake / standard / EVENTS_A_MESSAGE, 3),
    }
    tell(write_numbers(arguments.output, numbers))


def standard_rate(services: Services, folder: Path, messages: int) -> float:
    """Messages a second, with the job beside it that writes the fleet's metadata."""
    outputs = [canonical_topic(STREAM), FLEET_PARSED, FLEET_RECEIVED]
    services.create_topics(["raw.standard", "raw.slow", PARKED, *outputs], partitions=PARTITIONS)
    deploy_parser(services)
    services.publish([flow_of(STREAM)])
    land_all(services, (message_for(one, stream=STREAM) for one in range(messages)))
    with running(services, folder, STANDARD) as application:
        watched = Watched(
            [application],
            done=lambda: min(map(services.end_offset, (FLEET_PARSED, FLEET_RECEIVED))),
            seconds_max=_SECONDS_MAX,
        )
        began = watched.look_after(STARTED_SHARE * messages)
        return watched.look_after(messages).messages_a_second_since(began)


def lake_rate(services: Services, folder: Path, events: int) -> float:
    """Events a second into their table, while the other query writes the fleet's."""
    lake = LocalLake(folder / "lake")
    lake.folder.mkdir()
    shared = (
        f"--lake_warehouse {lake.warehouse} --lake_catalog_uri {lake.jdbc_uri}"
        f" --lake_bucket {BUCKET} --lake_trigger_ms {_WAIT_MS} --lake_lease_s 15"
        f" --lake_records_per_batch_max {LAKE_RECORDS_PER_WORKER}"
    )
    jobs = "; ".join(f"lake --tables {tables} {shared}" for tables in LakeTables)
    with running(services, folder / "lake-jobs", jobs) as application:
        watched = Watched(
            [application], done=partial(rows_of, lake, EVENTS), seconds_max=_SECONDS_MAX
        )
        began = watched.look_after(STARTED_SHARE * events)
        ended = watched.look_after(events)
        watched.look_when(lambda: rows_of(lake, RECEIVED) * EVENTS_A_MESSAGE >= events)
        return ended.messages_a_second_since(began)


def rows_of(lake: LocalLake, table: LakeTable) -> int:
    """As many as its last commit says that there are."""
    if not any(lake.folder.glob(f"{table.identifier.replace('.', '/')}/data/**/*.parquet")):
        return 0  # it is not in the catalog yet
    with closing(SqlCatalog(CATALOG, uri=f"sqlite:///{lake.catalog_path}")) as catalog:
        snapshot = catalog.load_table(table.identifier).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary["total-records"] or 0)


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("lake", __doc__)
    arguments.add_argument("--messages", type=int, default=150_000, help="in the backlog")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
