"""Whether a token is a device's own: signed with a key that the registry has for it."""

from typing import Any, Final, Protocol

import jwt

from clients.device_registry import Jwk, RegisteredDevice
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import is_device_id

AUDIENCE: Final = "fleetlane"
TOKEN_CHARS_MAX: Final = 4_096
LIFETIME_S_MAX: Final = 24 * 60 * 60
LEEWAY_S: Final = 300
ALGORITHMS: Final = ("ES256", "EdDSA")

_REASONS: Final = (
    (jwt.ExpiredSignatureError, "expired"),
    (jwt.ImmatureSignatureError, "not_yet_valid"),
    (jwt.InvalidAudienceError, "wrong_audience"),
    (jwt.InvalidAlgorithmError, "wrong_algorithm"),
    (jwt.InvalidSignatureError, "wrong_key"),
    (jwt.MissingRequiredClaimError, "claim_missing"),
)
# A key that is no point on its curve is a plain ValueError.
_MALFORMED: Final = (jwt.PyJWTError, ValueError)


class TokenRefusedError(FleetlaneError):
    """A token proves nothing. ``why`` is for our logs alone; the caller learns nothing of it."""

    reason = "token_refused"

    def __init__(self, why: str, device_id: str | None = None) -> None:
        super().__init__(why, device_id)
        self.why, self.device_id = why, device_id

    def __str__(self) -> str:
        return f"token refused: {self.why}"


class Devices(Protocol):
    """Where devices are looked up."""

    def find(self, device_id: str) -> RegisteredDevice | None: ...


def device_of(token: str, *, devices: Devices) -> RegisteredDevice:
    """Find the device whose token this is, whatever its status.

    Raises:
        TokenRefusedError: The token is missing, malformed, expired or not signed by its device.
        RegistryUnavailableError: The registry does not answer; nothing is known of the token.
    """
    kid, device_id = _claimed(token)
    device = devices.find(device_id)
    if device is None:
        raise TokenRefusedError("unknown_device", device_id)
    key = device.key(kid)
    if key is None:
        raise TokenRefusedError("unknown_key", device_id)
    claims = _verified(token, key, device_id)
    lifetime_s = int(claims["exp"]) - int(claims["iat"])  # PyJWT takes numbers as text too
    if not 0 < lifetime_s <= LIFETIME_S_MAX:
        raise TokenRefusedError("lifetime", device_id)
    return device


def _claimed(token: str) -> tuple[str, str]:
    """What the token says of itself, unproven: the key's id and the device's."""
    if not token:
        raise TokenRefusedError("no_token")
    if len(token) > TOKEN_CHARS_MAX:
        raise TokenRefusedError("token_too_large")
    try:
        unproven = jwt.decode_complete(token, options={"verify_signature": False})
    except _MALFORMED:
        raise TokenRefusedError("malformed") from None
    if unproven["header"].get("alg") not in ALGORITHMS:
        raise TokenRefusedError("wrong_algorithm")
    kid, device_id = unproven["header"].get("kid"), unproven["payload"].get("sub")
    if not isinstance(kid, str) or not isinstance(device_id, str) or not is_device_id(device_id):
        raise TokenRefusedError("malformed")
    return kid, device_id


def _verified(token: str, key: Jwk, device_id: str) -> dict[str, Any]:
    try:
        return jwt.decode(
            token,
            jwt.PyJWK(dict(key)),
            algorithms=ALGORITHMS,
            audience=AUDIENCE,
            leeway=LEEWAY_S,
            options={"require": ["sub", "aud", "iat", "exp"]},
        )
    except _MALFORMED as problem:
        raise TokenRefusedError(_why(problem), device_id) from None


def _why(problem: Exception) -> str:
    return next((why for error, why in _REASONS if isinstance(problem, error)), "malformed")
