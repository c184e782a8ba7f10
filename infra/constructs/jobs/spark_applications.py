"""The five Spark applications: which jobs share one, and what each is started with."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from fleetlane.events import job_arguments
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import namespace_of
from infra.stages import WORKER_CPUS, Stage

APPLICATION_PREFIX: Final = "fleetlane-"
LAKE_APPLICATION: Final = "lake"

CHILDREN_MAX: Final = 4
"""So many messages of a slow parser a task parses at once, where slots are left over."""

LAKE_RECORDS_PER_WORKER: Final = 200_000
"""As many a batch of the lake has for each worker but the driver's: what fits its memory."""

LAKE_TABLES_PREFIX: Final = "tables"
"""Where the lake's bucket holds tables; leases and requests are beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the jobs read and write: names and addresses, known only as a stage is deployed.

    Each is called as the jobs' arguments are. Overrides are in the flows' bucket.
    ``kafka_security`` is Amazon MSK's; anything else is for a broker on one's own machine.
    """

    kafka_bootstrap_servers: str
    checkpoint_folder: str
    flows_bucket: str
    payload_bucket: str
    parked_bucket: str
    lake_bucket: str
    spool_bucket: str
    registry_table: str
    kafka_security: job_arguments.KafkaSecurity = job_arguments.KafkaSecurity.IAM
    region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """Jobs of a stage that share a driver and workers.

    Without a ``lane`` it runs no parser, and keeps what came of all lanes: so no parser shares a
    role with what writes the lake, the registry or the overrides.
    """

    stage: Stage
    lane: Lane | None

    @property
    def name(self) -> str:
        return LAKE_APPLICATION if self.lane is None else str(self.lane)

    @property
    def workers(self) -> int:
        """With the driver's."""
        return int(getattr(self.stage, f"{self.name}_workers"))

    @property
    def executors(self) -> int:
        return max(1, self.workers - 1)

    @property
    def slots(self) -> int:
        return WORKER_CPUS * self.executors

    @property
    def has_metadata(self) -> bool:
        return self.lane is Lane.STANDARD

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
        host = job_arguments.HostArguments(
            application=APPLICATION_PREFIX + self.name,
            jobs="; ".join(self._jobs(places)),
            region=places.region,
            shuffle_partitions=self.slots,
        )
        return host.to_argv()

    def _jobs(self, places: Places) -> Iterator[str]:
        """Each has what it has a field for, of the places and of the stage's settings.

        As ``host.py`` reads it. Quoted: addresses are tokens until the deploy.
        """
        stage, executors = self.stage, self.executors
        given: dict[str, Any] = {
            **asdict(places),
            "overrides_bucket": places.flows_bucket,
            "lake_warehouse": f"s3://{places.lake_bucket}/{LAKE_TABLES_PREFIX}",
            "lake_database": stage.lake_database,
            "lake_records_per_batch_max": LAKE_RECORDS_PER_WORKER * executors,
            "lake_trigger_ms": stage.lake_trigger_ms,
            "archive_days": stage.raw_archive_days,
            "metrics_namespace": namespace_of(stage.name),
            "stage": stage.name,
            "openlineage_url": stage.openlineage_url,
            "lane": self.lane,
            "workers": executors,
            "children_max": min(CHILDREN_MAX, max(1, self.slots // stage.topic_partitions)),
            "sandbox": stage.sandbox,
        }
        for job, kind, own in self._kinds():
            names = {field.name for field in fields(kind)}
            arguments = kind(**{name: given[name] for name in names & given.keys()}, **own)
            yield shlex.join([job, *arguments.to_argv()])

    def _kinds(self) -> Iterator[tuple[str, type[job_arguments.JobArguments], Mapping[str, Any]]]:
        """Its jobs' names and arguments, with what each has of its own."""
        if self.lane is None:
            yield "deduplicate", job_arguments.DeduplicateArguments, {}
            for tables in job_arguments.lake_tables(self.stage.raw_archive_days):
                yield "lake", job_arguments.LakeArguments, {"tables": tables}
            yield "standing_ledger", job_arguments.StandingLedgerArguments, {}
            yield "fleet_watch", job_arguments.FleetWatchArguments, {}
            return
        own = {"trigger": self.stage.fast_trigger} if self.lane is Lane.FAST else {}
        yield "parse_lane", job_arguments.ParseLaneArguments, own
        if self.has_metadata:
            yield "fleet_metadata", job_arguments.FleetMetadataArguments, {}


def spark_applications(stage: Stage) -> tuple[SparkApplication, ...]:
    """Five: what may be slow shares no worker with what must be fast; the last has no parser."""
    return tuple(SparkApplication(stage=stage, lane=lane) for lane in (*Lane, None))
