"""API Gateway's REQUEST authorizer: a token in, a policy out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, dynamodb_table
from clients.devices.registry import DeviceRegistry, DeviceStatus, RegisteredDevice
from clients.environment import read_settings
from fleetlane.events.attributes import attributes_text
from fleetlane.events.names import COMMON_AUDIENCE
from lambdas.authorizer.service import Devices, TokenRefusedError, proven_by

logger = Logger(service="authorizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``registry_table`` is the DynamoDB table of devices; ``audiences`` have commas between."""

    registry_table: str
    audiences: str = COMMON_AUDIENCE


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer API Gateway; it keeps the answer for this token, whatever the route."""
    return authorize(event, devices=_registry(), audiences=_settings().audiences.split(","))


def authorize(
    event: Mapping[str, Any], *, devices: Devices, audiences: Sequence[str] = (COMMON_AUDIENCE,)
) -> dict[str, Any]:
    """Allow a device that proves who it is, unless it is revoked.

    Raises:
        Exception: ``Unauthorized``: API Gateway makes a 401 of exactly this text, a 500 of others.
        RegistryUnavailableError: Nothing is known of the device.
    """
    try:
        device, kid = proven_by(_bearer_token(event), devices=devices, audiences=audiences)
    except TokenRefusedError as refused:
        logger.warning("refused", extra={"why": refused.why, "device_id": refused.device_id})
        raise Exception("Unauthorized") from None
    if len(device.keys) > 1:  # the other may go once the new one is seen
        signed = {"device_id": device.device_id, "kid": kid}
        logger.info("signed with one of two keys", extra=signed)
    return _policy(device, event["methodArn"])


@cache
def _settings() -> Settings:
    return read_settings(Settings)


@cache
def _registry() -> DeviceRegistry:
    return DeviceRegistry(dynamodb_table(AwsSettings(), _settings().registry_table))


def _bearer_token(event: Mapping[str, Any]) -> str:
    """The only one: API Gateway keeps its answer for one header, and must not for another."""
    headers: Mapping[str, str] = event.get("headers") or {}
    several: Mapping[str, list[str]] = event.get("multiValueHeaders") or {}
    values = [value for name, value in headers.items() if name.lower() == "authorization"]
    sent = [one for key, all_ in several.items() if key.lower() == "authorization" for one in all_]
    if len(values) != 1 or len(sent) > 1:
        return ""
    scheme, _, token = values[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _policy(device: RegisteredDevice, method_arn: str) -> dict[str, Any]:
    """Covers every route of the stage: it is kept for the token, not for the route."""
    api, stage = method_arn.split("/")[:2]
    resource = f"{api}/{stage}/*/v1/*"
    effect = "Deny" if device.status is DeviceStatus.REVOKED else "Allow"
    attributes = attributes_text(device.attributes)
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource}
    return {
        "principalId": device.device_id,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {
            "device_id": device.device_id,
            "device_type": device.device_type,
            "status": device.status.value,
            "registered_ms": str(device.registered_ms),
        }
        | ({} if attributes is None else {"attributes": attributes}),
    }
