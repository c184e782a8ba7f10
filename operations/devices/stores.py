"""Where devices are kept: in the registry, and in the overrides."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from clients.devices.overrides import OverridesStore
from clients.devices.registry import DeviceRegistry
from clients.devices.sightings import DeviceSightings
from operations.devices.administration import DeviceAdministration
from operations.devices.trust import DeviceTrust

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_s3.client import S3Client


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStores:
    """The registry of a platform, what operators do with it, and its overrides."""

    registry: DeviceRegistry
    administration: DeviceAdministration
    sightings: DeviceSightings
    overrides: OverridesStore

    @classmethod
    def of(cls, table: "Table", s3: "S3Client", overrides_bucket: str) -> Self:
        return cls(
            registry=DeviceRegistry(table),
            administration=DeviceAdministration(table),
            sightings=DeviceSightings(table),
            overrides=OverridesStore(s3, overrides_bucket),
        )

    @property
    def trust(self) -> DeviceTrust:
        return DeviceTrust(self.registry, self.overrides)
