"""A simulated device: who it is, and the key that proves it."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import ECAlgorithm

from clients.devices.registry import DeviceStatus, RegisteredDevice
from operations.sending.device_key import AUDIENCE, DeviceKey

_ES256_EVERY: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Es256Key:
    """What older secure elements have instead of Ed25519: a P-256 key pair.

    ``public_jwk`` names it by its thumbprint (RFC 7638), as ``kid``.
    """

    public_jwk: dict[str, str]
    private: EllipticCurvePrivateKey

    @classmethod
    def derived(cls, secret: int) -> Self:
        """Make the pair of a secret number, from 1 to 2**255."""
        private = derive_private_key(secret, SECP256R1())
        members: dict[str, Any] = ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
        text = json.dumps(members, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()
        kid = urlsafe_b64encode(digest).rstrip(b"=").decode()
        return cls(public_jwk=members | {"kid": kid}, private=private)

    def token(self, device_id: str, *, now_s: int, lifetime_s: int) -> str:
        """Sign a token for the HTTP API; more than a day is refused there."""
        claims = {"sub": device_id, "aud": AUDIENCE, "iat": now_s, "exp": now_s + lifetime_s}
        headers = {"kid": self.public_jwk["kid"]}
        return jwt.encode(claims, self.private, algorithm="ES256", headers=headers)


type SigningKey = DeviceKey | Es256Key


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
