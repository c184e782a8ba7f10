"""The three Spark applications: which jobs share one, and what each is started with."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final

from fleetlane.events.job_arguments import (
    DeduplicateArguments,
    FleetMetadataArguments,
    FleetWatchArguments,
    HostArguments,
    JobArguments,
    KafkaSecurity,
    LakeArguments,
    LakeTables,
    ParseLaneArguments,
)
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NAMESPACE

APPLICATION_PREFIX: Final = "fleetlane-"
_JOB_NAMES: Final = {
    ParseLaneArguments: "parse_lane",
    FleetMetadataArguments: "fleet_metadata",
    FleetWatchArguments: "fleet_watch",
    DeduplicateArguments: "deduplicate",
    LakeArguments: "lake",
}

LAKE_TABLES_PREFIX: Final = "tables"
"""Where the lake's bucket holds tables; beside them stand leases and requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the jobs read and write: names and addresses, known only as a stage is deployed.

    Overrides stand beside the flows.
    ``kafka_security`` is Amazon MSK's; anything else is for a broker on one's own machine.
    """

    bootstrap_servers: str
    checkpoint_folder: str
    flows_bucket: str
    payload_bucket: str
    parked_bucket: str
    lake_bucket: str
    registry_table: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """Jobs that share a driver and workers. ``workers`` counts the driver's."""

    name: str
    lane: Lane
    workers: int
    has_metadata: bool = False
    has_deduplicate: bool = False
    has_lake: bool = False
    has_watch: bool = False

    def argv(self, places: Places) -> list[str]:
        """The arguments of ``glue_jobs/host.py``, in which each job finds all of its own."""
        jobs: list[JobArguments] = [_parse_lane(self.lane, places)]
        if self.has_metadata:
            jobs.append(_fleet_metadata(places))
        if self.has_deduplicate:
            jobs.append(_deduplicate(places))
        if self.has_lake:
            jobs += [_lake(tables, places) for tables in LakeTables]
        if self.has_watch:
            jobs.append(_fleet_watch(places))
        host = HostArguments(
            application=APPLICATION_PREFIX + self.name, jobs="; ".join(_job(job) for job in jobs)
        )
        return host.to_argv()


def spark_applications(
    *, fast_workers: int, standard_workers: int, slow_workers: int
) -> tuple[SparkApplication, ...]:
    """Three: what may be slow shares no worker with what must be fast."""
    return (
        SparkApplication(name="fast", lane=Lane.FAST, workers=fast_workers),
        SparkApplication(
            name="standard", lane=Lane.STANDARD, workers=standard_workers, has_metadata=True
        ),
        SparkApplication(
            name="slow",
            lane=Lane.SLOW,
            workers=slow_workers,
            has_deduplicate=True,
            has_lake=True,
            has_watch=True,
        ),
    )


def named_arguments(argv: Sequence[str]) -> dict[str, str]:
    """The same arguments as Glue wants them: values by name."""
    return dict(batched(argv, 2, strict=True))


def _job(arguments: JobArguments) -> str:
    """A job as ``host.py`` reads it. Quoted: an address may become anything while deploying."""
    words = [_JOB_NAMES[type(arguments)], *arguments.to_argv()]
    return " ".join(word if word.startswith("--") else shlex.quote(word) for word in words)


def _parse_lane(lane: Lane, places: Places) -> ParseLaneArguments:
    return ParseLaneArguments(
        kafka_bootstrap_servers=places.bootstrap_servers,
        kafka_security=places.kafka_security,
        checkpoint_folder=places.checkpoint_folder,
        lane=lane,
        flows_bucket=places.flows_bucket,
        payload_bucket=places.payload_bucket,
        parked_bucket=places.parked_bucket,
        metrics_namespace=NAMESPACE,
    )


def _fleet_metadata(places: Places) -> FleetMetadataArguments:
    return FleetMetadataArguments(
        kafka_bootstrap_servers=places.bootstrap_servers,
        kafka_security=places.kafka_security,
        checkpoint_folder=places.checkpoint_folder,
    )


def _deduplicate(places: Places) -> DeduplicateArguments:
    return DeduplicateArguments(
        kafka_bootstrap_servers=places.bootstrap_servers,
        kafka_security=places.kafka_security,
        checkpoint_folder=places.checkpoint_folder,
        flows_bucket=places.flows_bucket,
    )


def _fleet_watch(places: Places) -> FleetWatchArguments:
    return FleetWatchArguments(
        kafka_bootstrap_servers=places.bootstrap_servers,
        kafka_security=places.kafka_security,
        checkpoint_folder=places.checkpoint_folder,
        flows_bucket=places.flows_bucket,
        overrides_bucket=places.flows_bucket,
        registry_table=places.registry_table,
        metrics_namespace=NAMESPACE,
        lake_warehouse=_lake_warehouse(places),
    )


def _lake(tables: LakeTables, places: Places) -> LakeArguments:
    return LakeArguments(
        kafka_bootstrap_servers=places.bootstrap_servers,
        kafka_security=places.kafka_security,
        checkpoint_folder=places.checkpoint_folder,
        tables=tables,
        metrics_namespace=NAMESPACE,
        lake_warehouse=_lake_warehouse(places),
        lake_bucket=places.lake_bucket,
        flows_bucket=places.flows_bucket,
    )


def _lake_warehouse(places: Places) -> str:
    return f"s3://{places.lake_bucket}/{LAKE_TABLES_PREFIX}"
