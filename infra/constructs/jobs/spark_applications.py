"""The five Spark applications: which jobs share one, and what each is started with."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import batched
from typing import Any, Final

from fleetlane.events.job_arguments import (
    DeduplicateArguments,
    FleetMetadataArguments,
    FleetWatchArguments,
    HostArguments,
    JobArguments,
    KafkaSecurity,
    LakeArguments,
    ParseLaneArguments,
    Sandbox,
    StandingLedgerArguments,
    lake_tables,
)
from fleetlane.events.lake.tables import NAMESPACE as LAKE_NAMESPACE
from fleetlane.events.lanes import Lane, LaneTrigger
from fleetlane.events.metrics import NAMESPACE, namespace_of
from infra.stages import Stage

APPLICATION_PREFIX: Final = "fleetlane-"
LAKE_APPLICATION: Final = "lake"
_JOB_NAMES: Final = {
    ParseLaneArguments: "parse_lane",
    FleetMetadataArguments: "fleet_metadata",
    FleetWatchArguments: "fleet_watch",
    DeduplicateArguments: "deduplicate",
    LakeArguments: "lake",
    StandingLedgerArguments: "standing_ledger",
}

LAKE_RECORDS_PER_WORKER: Final = 200_000
"""As many a batch of the lake has for each worker but the driver's: what fits its memory."""

LAKE_TABLES_PREFIX: Final = "tables"
"""Where the lake's bucket holds tables; leases and requests are beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the jobs read and write: names and addresses, known only as a stage is deployed.

    Overrides are in the flows' bucket.
    ``kafka_security`` is Amazon MSK's; anything else is for a broker on one's own machine.
    """

    bootstrap_servers: str
    checkpoint_folder: str
    flows_bucket: str
    payload_bucket: str
    parked_bucket: str
    lake_bucket: str
    spool_bucket: str
    registry_table: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    region: str | None = None

    @property
    def common(self) -> dict[str, Any]:
        return {
            "kafka_bootstrap_servers": self.bootstrap_servers,
            "kafka_security": self.kafka_security,
            "checkpoint_folder": self.checkpoint_folder,
        }

    @property
    def lake_warehouse(self) -> str:
        return f"s3://{self.lake_bucket}/{LAKE_TABLES_PREFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """Jobs that share a driver and workers. ``workers`` counts the driver's.

    Without a ``lane`` it runs no parser, and keeps what came of all lanes: so no parser shares a
    role with what writes the lake, the registry or the overrides. With 0 ``archive_days`` its lake
    has no raw archive.
    """

    name: str
    lane: Lane | None
    workers: int
    has_metadata: bool = False
    sandbox: Sandbox = Sandbox.AVAILABLE
    trigger: LaneTrigger = LaneTrigger.MICRO_BATCHES
    archive_days: int = 0
    metrics_namespace: str = NAMESPACE
    lake_database: str = LAKE_NAMESPACE

    @property
    def is_scaled(self) -> bool:
        """Whether ``workers`` is the most, of which the engine runs what the load needs.

        The fast lane always has all of its own: a new one takes longer than its messages may.
        """
        return self.lane is not Lane.FAST

    @property
    def queries(self) -> tuple[str, ...]:
        """What the names of its queries, and so of its checkpoints, begin with."""
        if self.lane is None:
            return ("deduplicate", "lake", "fleet_watch")
        metadata = ("fleet_metadata",) if self.has_metadata else ()
        return (f"parse_lane_{self.lane}", *metadata)

    def argv(self, places: Places) -> list[str]:
        """The arguments of ``glue_jobs/host.py``, in which each job finds all of its own."""
        host = HostArguments(
            application=APPLICATION_PREFIX + self.name,
            jobs="; ".join(_job(job) for job in self._jobs(places)),
            region=places.region,
        )
        return host.to_argv()

    def _jobs(self, places: Places) -> Iterator[JobArguments]:
        if self.lane is None:
            yield from self._keeping_jobs(places)
            return
        yield ParseLaneArguments(
            **places.common,
            lane=self.lane,
            workers=self._executors,
            flows_bucket=places.flows_bucket,
            payload_bucket=places.payload_bucket,
            parked_bucket=places.parked_bucket,
            sandbox=self.sandbox,
            trigger=self.trigger,
            metrics_namespace=self.metrics_namespace,
        )
        if self.has_metadata:
            yield FleetMetadataArguments(**places.common)

    def _keeping_jobs(self, places: Places) -> Iterator[JobArguments]:
        yield DeduplicateArguments(**places.common, flows_bucket=places.flows_bucket)
        for tables in lake_tables(self.archive_days):
            yield LakeArguments(
                **places.common,
                tables=tables,
                metrics_namespace=self.metrics_namespace,
                lake_warehouse=places.lake_warehouse,
                lake_database=self.lake_database,
                lake_bucket=places.lake_bucket,
                payload_bucket=places.payload_bucket,
                flows_bucket=places.flows_bucket,
                archive_days=self.archive_days,
                lake_records_per_batch_max=LAKE_RECORDS_PER_WORKER * self._executors,
            )
        yield StandingLedgerArguments(
            **places.common,
            flows_bucket=places.flows_bucket,
            spool_bucket=places.spool_bucket,
            metrics_namespace=self.metrics_namespace,
            lake_warehouse=places.lake_warehouse,
            lake_database=self.lake_database,
            archive_days=self.archive_days,
        )
        yield FleetWatchArguments(
            **places.common,
            flows_bucket=places.flows_bucket,
            overrides_bucket=places.flows_bucket,
            registry_table=places.registry_table,
            metrics_namespace=self.metrics_namespace,
            lake_warehouse=places.lake_warehouse,
            lake_database=self.lake_database,
        )

    @property
    def _executors(self) -> int:
        """The workers without the driver's."""
        return max(1, self.workers - 1)


def spark_applications(stage: Stage) -> tuple[SparkApplication, ...]:
    """Five: what may be slow shares no worker with what must be fast; ``lake`` has no parser."""
    applications = (
        SparkApplication(
            name="fast", lane=Lane.FAST, workers=stage.fast_workers, trigger=stage.fast_trigger
        ),
        SparkApplication(
            name="standard", lane=Lane.STANDARD, workers=stage.standard_workers, has_metadata=True
        ),
        SparkApplication(name="bulk", lane=Lane.BULK, workers=stage.bulk_workers),
        SparkApplication(name="slow", lane=Lane.SLOW, workers=stage.slow_workers),
        SparkApplication(
            name=LAKE_APPLICATION,
            lane=None,
            workers=stage.lake_workers,
            archive_days=stage.raw_archive_days,
        ),
    )
    return tuple(
        replace(
            one,
            sandbox=stage.sandbox,
            metrics_namespace=namespace_of(stage.name),
            lake_database=stage.lake_database,
        )
        for one in applications
    )


def named_arguments(argv: Sequence[str]) -> dict[str, str]:
    """The same arguments as Glue wants them: values by name."""
    return dict(batched(argv, 2, strict=True))


def _job(arguments: JobArguments) -> str:
    """A job as ``host.py`` reads it. Quoted: addresses are tokens until the deploy."""
    words = [_JOB_NAMES[type(arguments)], *arguments.to_argv()]
    return " ".join(word if word.startswith("--") else shlex.quote(word) for word in words)
