"""Whether a token is a device's own: signed with a key that the registry has for it."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, Protocol

import jwt

from clients.devices.ed25519_points import problem_of_ed25519
from clients.devices.registry import BadDeviceError, Jwk, RegisteredDevice
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import COMMON_AUDIENCE, is_device_id

TOKEN_CHARS_MAX: Final = 4_096
KID_CHARS_MAX: Final = 128
ALGORITHMS: Final = ("ES256", "EdDSA")


class TokenRefusedError(FleetlaneError):
    """A token proves nothing. ``why`` is for our logs alone; the caller learns nothing of it."""

    why: str
    device_id: str | None = None
    sentence = "token refused: {why}"


def _claimed_by(token: str) -> tuple[str, str]:
    """The device, and the ``kid`` of its key, that a token says that it was signed with.

    A header or claim that appears twice could mean one thing to us and another to whoever
    made it, so it is refused; so is any header but ``alg``, ``kid`` and ``typ``, of which some
    would have us fetch a key, or unpack another token. Raises ``TokenRefusedError``.
    """
    if not token:
        raise TokenRefusedError("no_token")
    if len(token) > TOKEN_CHARS_MAX:
        raise TokenRefusedError("token_too_large")
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, payload, signature
        raise TokenRefusedError("malformed")
    header = _object(parts[0])
    if header.get("alg") not in ALGORITHMS:
        raise TokenRefusedError("wrong_algorithm")
    if not header.keys() <= {"alg", "kid", "typ"}:
        raise TokenRefusedError("unknown_header")
    kid, device_id = header.get("kid"), _object(parts[1]).get("sub")
    if not isinstance(kid, str) or len(kid) > KID_CHARS_MAX:
        raise TokenRefusedError("malformed")
    if not isinstance(device_id, str) or not is_device_id(device_id):
        raise TokenRefusedError("malformed")
    return device_id, kid


def _object(part: str) -> Mapping[str, Any]:
    try:
        text = urlsafe_b64decode(part + "=" * (-len(part) % 4))
        read = json.loads(text, object_pairs_hook=_each_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise TokenRefusedError("malformed") from None
    if not isinstance(read, dict):
        raise TokenRefusedError("malformed")
    return read


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise TokenRefusedError("repeated_name")
    return read


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


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


class Devices(Protocol):
    """Where devices are looked up."""

    def find(self, device_id: str) -> RegisteredDevice | None: ...


def proven_by(
    token: str, *, devices: Devices, audiences: Sequence[str] = (COMMON_AUDIENCE,)
) -> tuple[RegisteredDevice, str]:
    """Find the device whose token this is, whatever its status, and the ``kid`` of the key used.

    The token must be for one of the ``audiences``.

    Raises:
        TokenRefusedError: The token is missing, malformed, expired or not signed by its device.
        RegistryUnavailableError: The registry does not answer; nothing is known of the token.
    """
    device_id, kid = _claimed_by(token)
    try:
        device = devices.find(device_id)
    except BadDeviceError:  # another tool's item, or one of before a rule was tightened
        raise TokenRefusedError("bad_device", device_id) from None
    if device is None:
        raise TokenRefusedError("unknown_device", device_id)
    key = device.key(kid)
    if key is None:
        raise TokenRefusedError("unknown_key", device_id)
    if key["kty"] == "OKP" and problem_of_ed25519(key.get("x", "")) is not None:
        raise TokenRefusedError("weak_key", device_id)  # registered before that was refused
    claims = _verified(token, key, device_id, audiences)
    lifetime_s = int(claims["exp"]) - int(claims["iat"])  # PyJWT takes numbers as text too
    if not 0 < lifetime_s <= LIFETIME_S_MAX:
        raise TokenRefusedError("lifetime", device_id)
    return device, kid


def _verified(token: str, key: Jwk, device_id: str, audiences: Sequence[str]) -> dict[str, Any]:
    try:
        return jwt.decode(
            token,
            jwt.PyJWK({name: key[name] for name in _KEY_MEMBERS if name in key}),
            algorithms=ALGORITHMS,
            audience=audiences,
            leeway=LEEWAY_S,
            options={"require": ["sub", "aud", "iat", "exp"]},
        )
    except (jwt.PyJWTError, ValueError) as problem:  # ValueError: the key is no point on its curve
        why = next((why for error, why in _REASONS if isinstance(problem, error)), "malformed")
        raise TokenRefusedError(why, device_id) from None
