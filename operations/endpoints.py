"""The platform on this machine: where it answers, and what its stores are called."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources

LAPTOP: Final = "laptop"
"""No stage; a name for what runs here."""

REGISTRY_TABLE: Final = "fleetlane-devices"
FLOWS_BUCKET: Final = "fleetlane-flows"
OVERRIDES_BUCKET: Final = "fleetlane-overrides"
PAYLOAD_BUCKET: Final = "fleetlane-payloads"
PARKED_BUCKET: Final = "fleetlane-parked"
LAKE_BUCKET: Final = "fleetlane-lake"
"""Holds no tables here: leases, and what operators ask of the job that writes them."""

LAKE_CATALOG: Final = Path("lake/catalog.db")
"""In a platform's data folder: the lake's catalog, a SQLite file, beside its tables."""

FLOWS_MAX_AGE_S: Final = 5
"""Shorter than in AWS: S3 is near, and whoever publishes here is waiting."""


class PlatformNotRunningError(FleetlaneError):
    """No platform runs on a data folder."""

    reason = "platform_not_running"
    folder: Path
    sentence = "no platform runs on {folder}: start it with ./fleetlane up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a running platform answers: ``kafka`` as ``host:port``, the others as URLs."""

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
        )

    def write(self, path: Path) -> None:
        """Write the file at once whole: a reader never sees half of it."""
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n")
        beside.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``write`` wrote.

        Raises:
            PlatformNotRunningError: There is no such file, or something else wrote it.
        """
        try:
            return cls(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            raise PlatformNotRunningError(path.parent) from None
