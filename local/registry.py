"""The device registry of a platform that another process runs."""

import boto3

from clients.device_registry import DeviceRegistry
from local.endpoints import Endpoints
from local.platform import REGISTRY_TABLE


def registry_of(endpoints: Endpoints) -> DeviceRegistry:
    """Open the registry; whatever the user's own AWS settings are, they do not count."""
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=endpoints.dynamodb,
        region_name=endpoints.region,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - LocalStack takes any
    )
    return DeviceRegistry(resource.Table(REGISTRY_TABLE))
