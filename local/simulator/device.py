"""A simulated device: who it is, and the key that proves it."""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clients.devices.registry import DeviceStatus, RegisteredDevice
from local.simulator.es256_key import Es256Key
from operations.sending.device_key import DeviceKey

_ES256_EVERY = 10


class SigningKey(Protocol):
    """A key pair whose private part only the device has."""

    @property
    def public_jwk(self) -> dict[str, str]: ...

    def token(self, device_id: str, *, now_s: int, lifetime_s: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """A device. A ``status`` of ``None``: the registry does not know it.

    ``gateway_id`` is the device that speaks for it, if any.
    """

    device_id: str
    device_type: str
    firmware: str
    status: DeviceStatus | None
    key: SigningKey
    gateway_id: str | None = None

    def registration(self, *, registered_ms: int) -> RegisteredDevice | None:
        """Its item in the registry, if it is to have one."""
        if self.status is None:
            return None
        return RegisteredDevice(
            device_id=self.device_id,
            device_type=self.device_type,
            status=self.status,
            keys=(self.key.public_jwk,),
            gateway_id=self.gateway_id,
            registered_ms=registered_ms,
        )


def signing_key(number: int, random: Random) -> SigningKey:
    """The key of device ``number``: Ed25519; of one in ten, ES256."""
    if number % _ES256_EVERY == 0:
        return Es256Key.derived(1 + random.getrandbits(255))
    return DeviceKey.of(Ed25519PrivateKey.from_private_bytes(random.randbytes(32)))
