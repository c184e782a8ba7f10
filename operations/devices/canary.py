"""Enrolling the canary: a key pair, its public half for the registry, the pair for its function."""

from contextlib import suppress

from clients.device_api import DeviceKey
from clients.devices.canary_key import CanaryKeyParameter, CanaryNotEnrolledError
from clients.devices.registry import DeviceRegistry, Jwk, RegisteredDevice
from fleetlane.events.canary import DEVICE_ID, DEVICE_TYPE


def enrolled(registry: DeviceRegistry, keys: CanaryKeyParameter, *, now_ms: int) -> DeviceKey:
    """Give the canary a new key, and register it.

    The key in the parameter stays valid besides, until the next time: a running function still
    signs with it, as it does where an enrolment before this one did not come to write its own.

    Raises:
        RegistryUnavailableError: DynamoDB does not answer; nothing was changed.
        CanaryKeyUnavailableError: The private key was not written; this may be done again.
    """
    key, present = DeviceKey.generate(), registry.find(DEVICE_ID)
    in_use: str | None = None
    with suppress(CanaryNotEnrolledError):
        in_use = keys.read().kid
    known = () if present is None else present.keys
    before = tuple(one for one in known if one["kid"] == in_use)
    registry.register(canary_device(key, now_ms=now_ms, keys_before=before))
    keys.write(key)
    return key


def canary_device(
    key: DeviceKey, device_id: str = DEVICE_ID, *, now_ms: int, keys_before: tuple[Jwk, ...] = ()
) -> RegisteredDevice:
    """The device that signs with this key: the canary, or another of ours."""
    keys = (key.public_jwk, *keys_before)
    return RegisteredDevice(
        device_id=device_id, device_type=DEVICE_TYPE, keys=keys, registered_ms=now_ms
    )
