"""Where devices are kept: of a platform on this machine, or of a stage in AWS."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import boto3

from clients.aws import AwsSettings, client_config, dynamodb_table, s3_client
from clients.devices.overrides import OverridesStore
from clients.devices.registry import DeviceRegistry
from clients.devices.sightings import DeviceSightings
from local.platform import OVERRIDES_BUCKET, REGISTRY_TABLE
from operations.devices.administration import DeviceAdministration
from operations.devices.trust import DeviceTrust
from operations.endpoints import Endpoints

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
    def of_platform(cls, endpoints: Endpoints) -> Self:
        """Those of a platform here; whatever the user's own AWS settings are, they do not count."""
        settings: dict[str, Any] = {
            "endpoint_url": endpoints.dynamodb,
            "region_name": endpoints.region,
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
            "config": client_config(),
        }
        table = boto3.resource("dynamodb", **settings).Table(REGISTRY_TABLE)
        s3 = boto3.client("s3", **{**settings, "endpoint_url": endpoints.s3})
        return cls._of(table, s3, OVERRIDES_BUCKET)

    @classmethod
    def of_stage(cls, table: str, bucket: str) -> Self:
        """Those of a stage, with the region and the credentials of boto3's own environment."""
        settings = AwsSettings()
        return cls._of(dynamodb_table(settings, table), s3_client(settings), bucket)

    @classmethod
    def _of(cls, table: "Table", s3: "S3Client", bucket: str) -> Self:
        return cls(
            registry=DeviceRegistry(table),
            administration=DeviceAdministration(table),
            sightings=DeviceSightings(table),
            overrides=OverridesStore(s3, bucket),
        )

    @property
    def trust(self) -> DeviceTrust:
        return DeviceTrust(self.registry, self.overrides)
