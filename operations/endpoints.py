"""Where the platform on this machine and the stage ``local`` answer, and what stores are called."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import msgspec

from clients.aws import AwsSettings
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources

REGION: Final = "eu-central-1"
_ANY_KEY: Final = "test"
"""LocalStack takes any credentials; the user's own AWS settings must not count there."""

LOCAL_STAGE: Final = "local"
ENDPOINT_FILE: Final = Path(__file__).parents[1] / "build" / "local-cloud" / "endpoint.json"

LAPTOP: Final = "laptop"
"""No stage; a name for what runs here."""

REGISTRY_TABLE: Final = "fleetlane-devices"
FLOWS_BUCKET: Final = "fleetlane-flows"
OVERRIDES_BUCKET: Final = "fleetlane-overrides"
PAYLOAD_BUCKET: Final = "fleetlane-payloads"
PARKED_BUCKET: Final = "fleetlane-parked"
LAKE_BUCKET: Final = "fleetlane-lake"
"""Holds no tables here: leases, and what operators ask of the job that writes them."""

CONSOLE_TOKEN: Final = "FLEETLANE_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
"""Of the environment: who starts a console may choose what lets people look."""

LAKE_CATALOG: Final = Path("lake/catalog.db")
"""In a platform's data folder: the lake's catalog, a SQLite file, beside its tables."""

GATEWAY_LOG: Final = Path("gateway/gateway.log")

FLOWS_MAX_AGE_S: Final = 2
"""Shorter than in AWS: S3 is near, and whoever publishes here is waiting."""


class PlatformNotRunningError(FleetlaneError):
    """No platform runs on a data folder."""

    folder: Path
    sentence = "no platform runs on {folder}: start it with ./fleetlane up"


class LocalStageNotRunningError(FleetlaneError):
    """No deployed local stage is left running on this machine."""

    folder: Path
    sentence = "stage local does not run on this machine: start it with make local-cloud KEEP=1"


class _Announced(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses in a file, for as long as what answers there runs."""

    not_running: ClassVar[type[FleetlaneError]]

    def write(self, path: Path) -> None:
        """Write the file at once whole: a reader never sees half of it."""
        beside = path.with_suffix(".new")
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")
        beside.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``write`` wrote; raises ``not_running`` where there is no such file."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.DecodeError):
            raise cls.not_running(path.parent) from None


class Endpoints(_Announced, frozen=True, kw_only=True):
    """Where a running platform answers: ``kafka`` as ``host:port``, the others as URLs."""

    not_running = PlatformNotRunningError

    api: str
    kafka: str
    s3: str
    dynamodb: str
    region: str

    @property
    def resources(self) -> StageResources:
        return StageResources(
            stage=LAPTOP,
            region=self.region,
            api_url=self.api,
            kafka_bootstrap_servers=self.kafka,
            kafka_security=KafkaSecurity.PLAINTEXT,
            devices_table=REGISTRY_TABLE,
            flows_bucket=FLOWS_BUCKET,
            overrides_bucket=OVERRIDES_BUCKET,
            payload_bucket=PAYLOAD_BUCKET,
            parked_bucket=PARKED_BUCKET,
            lake_bucket=LAKE_BUCKET,
            flow_activation_function="",
            raw_archive_days=90,
        )


class LocalStage(_Announced, frozen=True, kw_only=True):
    """The address of LocalStack, and what its deploy cannot know.

    ``api_url`` is where ``/v1/…`` is, on LocalStack's own address. ``lake_catalog`` is the SQLite
    file with the lake's catalog, for there is no Glue.
    """

    not_running = LocalStageNotRunningError

    endpoint_url: str
    region: str
    api_url: str
    lake_catalog: str | None = None


def localstack_at(endpoint_url: str, region: str = REGION) -> AwsSettings:
    anybody = {"aws_access_key_id": _ANY_KEY, "aws_secret_access_key": _ANY_KEY}
    return AwsSettings(endpoint_url=endpoint_url, region_name=region, **anybody)


def variables_for(settings: Mapping[str, Any]) -> dict[str, str]:
    """Fields of ``AwsSettings``, as the variables that the AWS clients of a process read."""
    return {
        "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": settings["region_name"],
        "AWS_ENDPOINT_URL": settings["endpoint_url"],
    }
