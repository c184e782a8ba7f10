"""Arguments of the Spark jobs: one dataclass a job, passed alike by Glue, EMR and the laptop."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from itertools import chain, pairwise
from typing import Any, Final, Self

import msgspec

from fleetlane.events import lanes
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import LAKE_DATABASE

FLOWS_MAX_AGE_S: Final = 15
"""Functions and jobs read the flows in force again when theirs are so old."""


class KafkaSecurity(StrEnum):
    """How clients reach Kafka: as Amazon MSK wants it, or unprotected, on one machine."""

    IAM = "iam"
    PLAINTEXT = "plaintext"


class Engine(StrEnum):
    """What runs the Spark jobs. A laptop runs them itself."""

    GLUE = "glue"
    EMR = "emr"
    LAPTOP = "laptop"


class Sandbox(StrEnum):
    """Whether a lane runs parsers where a part of their jail is missing or does not hold."""

    REQUIRED = "required"
    AVAILABLE = "available"


class BadArgumentsError(FleetlaneError):
    """A job was started with an argument missing or not allowed."""

    job: str
    problem: str
    sentence = "{job}: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments as ``--name value`` pairs, the only form that Glue and EMR share."""

    def to_argv(self) -> list[str]:
        """Write the pairs; a field that is ``None`` is left out."""
        given = asdict(self).items()
        return list(chain(*((f"--{name}", str(one)) for name, one in given if one is not None)))

    @classmethod
    def from_argv(cls, argv: Sequence[str]) -> Self:
        """Read ``--name value`` pairs. Names that are not ours (Glue adds its own) are ignored.

        Raises ``BadArgumentsError`` where one is missing, or its value is not allowed.
        """
        names = {f"--{field.name}" for field in fields(cls)}
        given = {name[2:]: value for name, value in pairwise(argv) if name in names}
        try:
            return msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as problem:
            raise BadArgumentsError(cls.__name__, str(problem)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostArguments(Arguments):
    """Arguments of ``host``: the application's name, and its jobs as ``host.py`` describes.

    ``region`` is AWS's; without one, its clients find their own. A shuffle has so many
    ``shuffle_partitions``, or as many as its settings say.
    """

    application: str
    jobs: str
    region: str | None = None
    shuffle_partitions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArguments(Arguments):
    """What every job needs. ``checkpoint_folder`` is a URL that Hadoop can write to.

    ``metrics_namespace`` is CloudWatch's; without one, no metrics are published. Runs of queries
    are sent to the ``openlineage_url``, or where OpenLineage's own environment says, if it does.
    """

    kafka_bootstrap_servers: str
    checkpoint_folder: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    metrics_namespace: str | None = None
    stage: str = "local"
    openlineage_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowsArguments(JobArguments):
    """What a job needs that goes by the flows, which it reads again once they are so old."""

    flows_bucket: str
    flows_max_age_s: int = FLOWS_MAX_AGE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLaneArguments(FlowsArguments):
    """Arguments of ``parse_lane``.

    With a ``blocking_stream`` the query reads that stream's own topic, and no other; so it does
    with a ``bulk_cause``, or what ``is_over`` its flow's budget. The bulk and slow lanes' batches
    grow with the ``workers``. The last four replace the lane's own limits; ``None`` leaves the
    lane's. With the ``trigger`` ``real-time``, which is the fast lane's alone, batches last
    ``real_time_batch_ms``: the end of one is a short pause, and a crash repeats it.
    """

    lane: lanes.Lane
    payload_bucket: str
    parked_bucket: str
    sandbox: Sandbox = Sandbox.AVAILABLE
    blocking_stream: str | None = None
    bulk_cause: lanes.BulkCause | None = None
    is_over: bool = False
    workers: int = 1
    trigger: lanes.LaneTrigger = lanes.LaneTrigger.MICRO_BATCHES
    real_time_batch_ms: int = 60_000
    children_max: int | None = None
    trigger_ms: int | None = None
    parse_ms_max: int | None = None
    messages_per_batch_max: int | None = None

    @property
    def is_real_time(self) -> bool:
        """Whether each message is to be parsed as it comes: never where one may stop the others."""
        is_allowed = self.lane in lanes.REAL_TIME_LANES and self.blocking_stream is None
        return is_allowed and self.trigger is lanes.LaneTrigger.REAL_TIME

    @property
    def limits(self) -> lanes.LaneLimits:
        """The lane's limits, with those of these arguments instead where they are given."""
        of_workers = lanes.messages_per_batch(
            self.lane, self.workers, self.bulk_cause, is_over=self.is_over
        )
        given: dict[str, Any] = {
            "children_max": self.children_max,
            "trigger_ms": self.trigger_ms,
            "parse_ms_max": self.parse_ms_max,
            "messages_per_batch_max": self.messages_per_batch_max or of_workers,
            # What blocks may not pass on to another lane.
            "growth": None if self.blocking_stream is None else lanes.GrowthLimits(),
        }
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(lanes.LANE_LIMITS[self.lane], **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMetadataArguments(JobArguments):
    """Arguments of ``fleet_metadata``."""

    metadata_trigger_ms: int = 1_000
    metadata_messages_per_batch_max: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWatchArguments(FlowsArguments):
    """Arguments of ``fleet_watch``. ``overrides_bucket`` holds the overrides.

    A device that sends too much is held back until it was calm for ``watch_hold_s``. It is counted
    by windows of ``watch_window_s``. ``registry_table`` keeps when devices were last seen; so many
    are written each batch.

    With a ``lake_warehouse`` flows are held against what is usual; its catalog: ``LakeArguments``.
    """

    overrides_bucket: str
    registry_table: str
    watch_trigger_ms: int = 10_000
    watch_window_s: int = 60
    watch_hold_s: int = 600
    watch_sightings_per_batch_max: int = 200
    lake_warehouse: str | None = None
    lake_catalog_uri: str | None = None
    lake_database: str = LAKE_DATABASE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeduplicateArguments(FlowsArguments):
    """Arguments of ``deduplicate``. State partitions are those of a flow's checkpoint for ever."""

    dedupe_trigger_ms: int = 10_000
    dedupe_events_per_batch_max: int = 400_000
    dedupe_state_partitions: int = 4


class LakeTables(StrEnum):
    """Which tables a query of the lake writes: they share its batches and its lease."""

    EVENTS = "events"
    FLEET = "fleet"
    ARCHIVE = "archive"


def lake_tables(archive_days: int) -> Sequence[LakeTables]:
    """The queries of the lake that there are where raw records are archived for so long."""
    return [one for one in LakeTables if archive_days or one is not LakeTables.ARCHIVE]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeArguments(JobArguments):
    """Arguments of ``lake``. ``lake_bucket`` holds the leases, and what operators ask for.

    A batch begins once it is full, ``lake_records_per_batch_max``, or ``lake_trigger_ms`` after
    the one before. Without ``lake_catalog_uri``, a JDBC address, the catalog is AWS's Glue Data
    Catalog, and streams with a schema have views in that. The archive copies bodies from the
    ``payload_bucket``, and keeps its rows for ``archive_days``.
    """

    tables: LakeTables
    lake_warehouse: str
    lake_bucket: str
    payload_bucket: str
    flows_bucket: str
    archive_days: int = 90
    lake_catalog_uri: str | None = None
    lake_database: str = LAKE_DATABASE
    lake_trigger_ms: int = 300_000
    lake_records_per_batch_max: int = 200_000
    lake_lease_s: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingLedgerArguments(FlowsArguments):
    """Arguments of ``standing_ledger``. The lake is that of ``LakeArguments``.

    With 0 ``archive_days`` there is no archive to read. What ingest counted is read from the
    ``accepted_log`` of its functions, if there is one, else from a ``metrics_namespace``, if any.
    """

    lake_warehouse: str
    spool_bucket: str | None = None
    lake_catalog_uri: str | None = None
    lake_database: str = LAKE_DATABASE
    archive_days: int = 90
    accepted_log: str | None = None
    ledger_interval_s: int = 60
