"""What a stage is; ``stages.toml`` has the stages side by side."""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import Engine, Sandbox
from fleetlane.events.lanes import Lane, LaneTrigger


class Api(StrEnum):
    """Which of API Gateway's APIs devices call: REST, or HTTP at a third of its price."""

    REST = "rest"
    HTTP = "http"


class BadStageError(FleetlaneError):
    """A stage is not described as it must be."""

    stage: str
    field: str
    problem: str
    sentence = "infra/stages.toml: stage {stage}, `{field}`: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDomain:
    """A name of our own for the API, which then asks devices for a client certificate as well."""

    name: str
    certificate_arn: str
    truststore_uri: str
    keeps_default_address: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One deployed platform. ``stages.toml`` says what its settings are, where a name does not."""

    name: str
    account: str | None
    is_cloud: bool
    region: str
    availability_zones: tuple[str, ...]
    nat_gateways: int
    keeps_data: bool
    payload_ttl_days: int
    raw_archive_days: int
    log_retention_days: int
    broker_type: str | None
    broker_count: int
    broker_storage_gib: int
    topic_partitions: int
    topic_replication: int
    lake_database: str
    ingest_memory_mib: int
    ingest_concurrency: int | None
    authorizer_concurrency: int | None
    soft_rate_limit_per_minute: int
    hard_rate_limit_per_minute: int
    soft_rate_limit_bytes_per_minute: int
    hard_rate_limit_bytes_per_minute: int
    upload_concurrency: int | None
    upload_bytes_max: int
    requests_per_s: int
    requests_burst: int
    api: Api
    has_firewall: bool
    has_tracing: bool
    device_domain: DeviceDomain | None
    engine: Engine
    sandbox: Sandbox
    fast_trigger: LaneTrigger
    fast_workers: int
    standard_workers: int
    bulk_workers: int
    slow_workers: int
    lake_workers: int
    lake_trigger_ms: int
    alarm_email: str | None
    openlineage_url: str | None
    pipeline_repository: str | None
    has_operator_host: bool

    @property
    def archived_body_days(self) -> int:
        """A body outlives its row: upkeep is daily, and a reader may hold a snapshot for five."""
        return self.raw_archive_days + 8

    @property
    def reserved_concurrency(self) -> int:
        """Of all functions together: those of the table, and those that are the same anywhere."""
        chosen = (self.ingest_concurrency, self.authorizer_concurrency, self.upload_concurrency)
        return sum(one or 0 for one in chosen) + _SAME_ANYWHERE

    @property
    def replicas_max(self) -> int:
        """Of partitions, on all brokers."""
        return self.broker_count * PARTITIONS_MAX.get(self.broker_type or "", 1_000)

    @property
    def lane_workers(self) -> Mapping[Lane, int]:
        """Each with its driver's."""
        return {lane: getattr(self, f"{lane}_workers") for lane in Lane}

    @property
    def workers(self) -> int:
        """Of all applications together, with their drivers'."""
        return sum(self.lane_workers.values()) + self.lake_workers

    @property
    def has_canary(self) -> bool:
        """A laptop's has no function, and where devices show a certificate it has none to show."""
        return self.is_cloud and self.has_default_address

    @property
    def has_default_address(self) -> bool:
        """Whether API Gateway's own address answers."""
        return self.device_domain is None or self.device_domain.keeps_default_address


_SAME_ANYWHERE: Final = 15
"""Ten to land uploads, two of the canary, one each to sweep, to respool and to activate flows."""

LOG_RETENTION_DAYS: Final = (1, 7, 14, 30, 90, 180, 365)  # what CloudWatch supports
TRACED_PER_S: Final = 1
TRACED_SHARE: Final = 0.001
"""Where requests are traced: so many a second, and of the others this share. X-Ray's own share, one
in twenty, would cost half of what the functions do."""

PARTITIONS_MAX: Final = MappingProxyType(
    {"m7g.large": 1_000, "m7g.xlarge": 1_000, "m7g.2xlarge": 2_000, "m7g.4xlarge": 4_000}
)
"""What MSK advises for a broker of each type, replicas included. Burstable ones are not here: they
take four logins by IAM a second, and more functions than that start at once."""

WORKER_CPUS: Final = 4
WORKER_MEMORY_GIB: Final = 16
"""Glue's G.1X, which is one DPU, and EMR's as we ask for it: as many tasks at once as CPUs."""

STAGE_NAMES: Final = ("local", "dev", "staging", "prod")

_NONE: Final = "-"
_SIDE_BY_SIDE: Final[Mapping[str, Sequence[Any]]] = MappingProxyType(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
)


def settings_of(name: str) -> dict[str, Any]:
    """A stage's column of the table; raises ``BadStageError`` for another name."""
    if name not in STAGE_NAMES:
        problem = f"is not a stage; give one of {', '.join(STAGE_NAMES)} by `-c stage=<name>`"
        raise BadStageError(name, "name", problem)
    column = STAGE_NAMES.index(name)
    written = {field: values[column] for field, values in _SIDE_BY_SIDE.items()}
    return {field: None if value == _NONE else value for field, value in written.items()}


def stage_from(name: str, settings: Mapping[str, Any]) -> Stage:
    """Make a stage of its settings; raises ``BadStageError`` for one missing or not allowed."""
    fields = {field.name for field in dataclasses.fields(Stage)} - {"name"}
    for missing in sorted(fields - settings.keys()):
        raise BadStageError(name, missing, "is missing; add it to the table, for every stage")
    for unknown in sorted(settings.keys() - fields):
        raise BadStageError(name, unknown, "is no setting; remove it, or add it to `Stage`")
    try:
        stage = msgspec.convert({"name": name, **settings}, Stage)
    except msgspec.ValidationError as refusal:
        problem, _, field = str(refusal).rpartition(" - at `$.")
        raise BadStageError(name, field.rstrip("`"), problem) from refusal
    if stage.log_retention_days not in LOG_RETENTION_DAYS:
        problem = f"is {stage.log_retention_days}; choose one of {_listed(LOG_RETENTION_DAYS)}"
        raise BadStageError(name, "log_retention_days", problem)
    if stage.is_cloud and stage.broker_type not in PARTITIONS_MAX:
        problem = f"is {stage.broker_type}; choose one of {_listed(PARTITIONS_MAX)}"
        raise BadStageError(name, "broker_type", problem)
    for field in ("has_firewall", "has_tracing"):
        if stage.api is Api.HTTP and settings[field]:
            problem = "is on, but AWS has it for REST APIs alone; turn it off, or set `api` to rest"
            raise BadStageError(name, field, problem)
    return stage


def _listed(allowed: Iterable[object]) -> str:
    return ", ".join(map(str, allowed))
