"""The stages side by side: all that differs between them, and nothing else."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

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
    sentence = "infra/stages.py: stage {stage}, `{field}`: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDomain:
    """A name of our own for the API, which then asks devices for a client certificate as well.

    ``certificate_arn`` is ACM's, in the stage's region; ``truststore_uri`` is an ``s3://`` URL of
    the PEM file with the authorities that may sign a device's certificate. With
    ``keeps_default_address`` API Gateway's own address answers besides, without a certificate,
    until all devices have moved; our own commands and the canary use it meanwhile.
    """

    name: str
    certificate_arn: str
    truststore_uri: str
    keeps_default_address: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One deployed platform.

    With an ``account`` no other is deployed to. ``keeps_data``: nothing that holds data can be
    deleted with its stack. Without ``alarm_email`` alarms notify nobody; without ``device_domain``
    devices use API Gateway's own address. With 0 ``raw_archive_days`` raw records are not archived.
    The lake writes what came every ``lake_trigger_ms``, or once a batch is full; before prod
    sooner. The rate limits are of one device's messages and bytes a minute, as one
    running function counts them. Jobs send their runs to an ``openlineage_url`` that answers inside
    the network, without a key. ``lake_database`` is the stage's own in Glue's catalog,
    ``pipeline_repository`` the one whose workflows may deploy it, as GitHub's tokens name it. With
    ``has_operator_host`` a machine inside the network runs the commands that need Kafka.
    """

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


_ZONES: Final = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
_AVAILABLE, _REQUIRED = Sandbox.AVAILABLE, Sandbox.REQUIRED
_BATCHES = LaneTrigger.MICRO_BATCHES
_LAPTOP, _GLUE, _EMR = Engine.LAPTOP, Engine.GLUE, Engine.EMR

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

# fmt: off
_SIDE_BY_SIDE: Final[Mapping[str, tuple[Any, Any, Any, Any]]] = MappingProxyType({
    #                          local           dev               staging            prod
    "is_cloud":               (False,          True,             True,              True),
    "account":                (None,           None,             None,              None),
    "region":                 ("eu-central-1", "eu-central-1",   "eu-central-1",    "eu-central-1"),
    "availability_zones":     ((),             _ZONES,           _ZONES,            _ZONES),
    "nat_gateways":           (0,              0,                0,                 0),
    "keeps_data":             (False,          False,            False,             True),
    "payload_ttl_days":       (35,             35,               35,                35),
    "raw_archive_days":       (90,             90,               90,                90),
    "log_retention_days":     (7,              7,                30,                90),
    "broker_type":            (None,           "m7g.large",      "m7g.large",       "m7g.xlarge"),
    "broker_count":           (1,              3,                3,                 3),
    "broker_storage_gib":     (1,              50,               250,               1_000),
    "topic_partitions":       (2,              3,                12,                24),
    "topic_replication":      (1,              3,                3,                 3),
    "lake_database":          ("fleetlane", "fleetlane_dev", "fleetlane_staging", "fleetlane_prod"),
    "ingest_memory_mib":      (512,            1_024,            1_769,             1_769),
    "ingest_concurrency":     (None,           50,               200,               600),
    "authorizer_concurrency": (None,           10,               50,                150),
    "soft_rate_limit_per_minute": (6_000,         600,              600,               600),
    "hard_rate_limit_per_minute": (12_000,        1_200,            1_200,             1_200),
    "soft_rate_limit_bytes_per_minute": (256 << 20, 8 << 20,  16 << 20,          16 << 20),
    "hard_rate_limit_bytes_per_minute": (1 << 30,   16 << 20, 32 << 20,          32 << 20),
    "upload_concurrency":     (None,           5,                20,                50),
    "upload_bytes_max":       (64 << 20,       64 << 20,         64 << 20,          64 << 20),
    "requests_per_s":         (100,            200,              2_000,             8_000),
    "requests_burst":         (200,            400,              2_000,             5_000),
    "api":                    (Api.REST,       Api.REST,         Api.REST,          Api.REST),
    "has_firewall":           (False,          False,            False,             True),
    "has_tracing":            (False,          False,            False,             True),
    "device_domain":          (None,           None,             None,              None),
    "engine":                 (_LAPTOP,        _GLUE,            _EMR,              _GLUE),
    "sandbox":                (_AVAILABLE,     _AVAILABLE,       _REQUIRED,         _REQUIRED),
    "fast_trigger":           (_BATCHES,       _BATCHES,         _BATCHES,          _BATCHES),
    "fast_workers":           (1,              2,                2,                 4),
    "standard_workers":       (1,              2,                4,                 10),
    "bulk_workers":           (1,              2,                2,                 4),
    "slow_workers":           (1,              2,                2,                 3),
    "lake_workers":           (1,              2,                2,                 5),
    "lake_trigger_ms":        (10_000,         60_000,           60_000,            300_000),
    "alarm_email":            (None,           None,             None,              None),
    "openlineage_url":        (None,           None,             None,              None),
    "pipeline_repository":    (None,           None,             None,              None),
    "has_operator_host":      (False,          False,            False,             False),
})
# fmt: on


def settings_of(name: str) -> dict[str, Any]:
    """A stage's column of the table; raises ``BadStageError`` for another name."""
    if name not in STAGE_NAMES:
        problem = f"is not a stage; give one of {', '.join(STAGE_NAMES)} by `-c stage=<name>`"
        raise BadStageError(name, "name", problem)
    column = STAGE_NAMES.index(name)
    return {field: values[column] for field, values in _SIDE_BY_SIDE.items()}


def stage_from(name: str, settings: Mapping[str, Any]) -> Stage:
    """Make a stage of its settings; raises ``BadStageError`` for one missing or not allowed."""
    fields = {field.name for field in dataclasses.fields(Stage)} - {"name"}
    for missing in sorted(fields - settings.keys()):
        raise BadStageError(name, missing, "is missing; add it to the table, for every stage")
    for unknown in sorted(settings.keys() - fields):
        raise BadStageError(name, unknown, "is no setting; remove it, or add it to `Stage`")
    days = settings["log_retention_days"]
    if days not in LOG_RETENTION_DAYS:
        allowed = ", ".join(map(str, LOG_RETENTION_DAYS))
        raise BadStageError(name, "log_retention_days", f"is {days}; choose one of {allowed}")
    broker_type = settings["broker_type"]
    if settings["is_cloud"] and broker_type not in PARTITIONS_MAX:
        problem = f"is {broker_type}; choose one of {', '.join(PARTITIONS_MAX)}"
        raise BadStageError(name, "broker_type", problem)
    for field in ("has_firewall", "has_tracing"):
        if settings["api"] is Api.HTTP and settings[field]:
            problem = "is on, but AWS has it for REST APIs alone; turn it off, or set `api` to REST"
            raise BadStageError(name, field, problem)
    return Stage(name=name, **settings)
