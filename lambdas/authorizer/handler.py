"""API Gateway's REQUEST authorizer: a token in, a policy out."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, dynamodb_table
from clients.device_registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from lambdas.authorizer.service import Devices, TokenRefusedError, device_of
from lambdas.authorizer.settings import settings

logger = Logger(service="authorizer")


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer API Gateway; it keeps the answer for this token, whatever the route."""
    return authorize(event, devices=_registry())


def authorize(event: Mapping[str, Any], *, devices: Devices) -> dict[str, Any]:
    """Allow a device that proves who it is, unless it is revoked.

    Raises:
        Exception: ``Unauthorized``: API Gateway makes a 401 of exactly this text, a 500 of others.
        RegistryUnavailableError: Nothing is known of the device.
    """
    try:
        device = device_of(_bearer_token(event), devices=devices)
    except TokenRefusedError as refused:
        logger.warning("refused", extra={"why": refused.why, "device_id": refused.device_id})
        raise Exception("Unauthorized") from None
    return _policy(device, event["methodArn"])


@cache
def _registry() -> DeviceRegistry:
    return DeviceRegistry(dynamodb_table(AwsSettings(), settings().registry_table))


def _bearer_token(event: Mapping[str, Any]) -> str:
    headers: Mapping[str, str] = event.get("headers") or {}
    for name, value in headers.items():
        if name.lower() == "authorization":
            scheme, _, token = value.partition(" ")
            return token.strip() if scheme.lower() == "bearer" else ""
    return ""


def _policy(device: RegisteredDevice, method_arn: str) -> dict[str, Any]:
    """Covers every route of the stage: it is kept for the token, not for the route."""
    api, stage = method_arn.split("/")[:2]
    effect = "Deny" if device.status is DeviceStatus.REVOKED else "Allow"
    statement = {
        "Action": "execute-api:Invoke",
        "Effect": effect,
        "Resource": f"{api}/{stage}/*/v1/*",
    }
    return {
        "principalId": device.device_id,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {
            "device_id": device.device_id,
            "device_type": device.device_type,
            "status": device.status.value,
        },
    }
