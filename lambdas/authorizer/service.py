"""Whether a token is a device's own: signed with a key that the registry has for it."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

import jwt

from clients.devices.registry import Jwk, RegisteredDevice
from lambdas.authorizer.unproven import ALGORITHMS, TokenRefusedError, claimed_by

AUDIENCE: Final = "fleetlane"
LIFETIME_S_MAX: Final = 24 * 60 * 60
LEEWAY_S: Final = 300

_REASONS: Final = (
    (jwt.ExpiredSignatureError, "expired"),
    (jwt.ImmatureSignatureError, "not_yet_valid"),
    (jwt.InvalidAudienceError, "wrong_audience"),
    (jwt.InvalidAlgorithmError, "wrong_algorithm"),
    (jwt.InvalidSignatureError, "wrong_key"),
    (jwt.MissingRequiredClaimError, "claim_missing"),
)
_KEY_MEMBERS: Final = ("kty", "crv", "x", "y")
"""All that makes a public key; its curve alone says for which algorithm it is."""

# A key that is no point on its curve is a plain ValueError.
_MALFORMED: Final = (jwt.PyJWTError, ValueError)


class Devices(Protocol):
    """Where devices are looked up."""

    def find(self, device_id: str) -> RegisteredDevice | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A device that has proven who it is, whatever its status, and the key it did so with."""

    device: RegisteredDevice
    kid: str


def proven_by(token: str, *, devices: Devices) -> Proven:
    """Find the device whose token this is.

    Raises:
        TokenRefusedError: The token is missing, malformed, expired or not signed by its device.
        RegistryUnavailableError: The registry does not answer; nothing is known of the token.
    """
    claimed = claimed_by(token)
    device_id = claimed.device_id
    device = devices.find(device_id)
    if device is None:
        raise TokenRefusedError("unknown_device", device_id)
    key = device.key(claimed.kid)
    if key is None:
        raise TokenRefusedError("unknown_key", device_id)
    claims = _verified(token, key, device_id)
    lifetime_s = int(claims["exp"]) - int(claims["iat"])  # PyJWT takes numbers as text too
    if not 0 < lifetime_s <= LIFETIME_S_MAX:
        raise TokenRefusedError("lifetime", device_id)
    return Proven(device=device, kid=claimed.kid)


def _verified(token: str, key: Jwk, device_id: str) -> dict[str, Any]:
    try:
        return jwt.decode(
            token,
            jwt.PyJWK({name: key[name] for name in _KEY_MEMBERS if name in key}),
            algorithms=ALGORITHMS,
            audience=AUDIENCE,
            leeway=LEEWAY_S,
            options={"require": ["sub", "aud", "iat", "exp"]},
        )
    except _MALFORMED as problem:
        raise TokenRefusedError(_why(problem), device_id) from None


def _why(problem: Exception) -> str:
    return next((why for error, why in _REASONS if isinstance(problem, error)), "malformed")
