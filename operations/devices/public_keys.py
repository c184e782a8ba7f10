"""A device's public key as its maker provides it: PEM, or a JWK."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from fleetlane.events.errors import FleetlaneError

_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x")}
_KID_CHARS_MAX = 128
_TEXT_CHARS_MAX = 4_096


class BadPublicKeyError(FleetlaneError):
    """This is not a public key of an allowed kind."""

    reason = "bad_public_key"
    problem: str
    sentence = "the public key {problem}"


def public_jwk(text: str) -> dict[str, str]:
    """Read a key on P-256 or Ed25519, whose point is checked.

    Its ``kid`` is the JWK's own, or the key's thumbprint (RFC 7638).

    Raises:
        BadPublicKeyError: It is no such key, or a private one, which must not leave its device.
    """
    if len(text) > _TEXT_CHARS_MAX:
        raise BadPublicKeyError(f"has {len(text)} characters; the limit is {_TEXT_CHARS_MAX}")
    given = _from_pem(text) if "-----BEGIN" in text else _from_json(text)
    kty = str(given.get("kty"))
    if kty not in _MEMBERS:
        raise BadPublicKeyError(f"is of kind {kty[:80]!r}; allowed: EC (P-256), OKP (Ed25519)")
    members = {name: given.get(name) for name in _MEMBERS[kty]}
    kid = given.get("kid", _thumbprint(members))
    if not isinstance(kid, str) or not 0 < len(kid) <= _KID_CHARS_MAX:
        raise BadPublicKeyError(f"has a `kid` that is no text of 1 to {_KID_CHARS_MAX} characters")
    if _curve_of(members) not in ("P-256", "Ed25519"):
        raise BadPublicKeyError("is on another curve; allowed: P-256, Ed25519")
    return {name: str(value) for name, value in members.items()} | {"kid": kid}


def _from_pem(text: str) -> dict[str, Any]:
    if "PRIVATE KEY" in text:
        raise BadPublicKeyError("is a private one: it must not leave its device")
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise BadPublicKeyError("cannot be read as PEM") from None
    match key:
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            return dict(ECAlgorithm.to_jwk(key, as_dict=True))
        case Ed25519PublicKey():
            return dict(OKPAlgorithm.to_jwk(key, as_dict=True))
        case _:
            raise BadPublicKeyError("is of another kind; allowed: EC (P-256), Ed25519")


def _from_json(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPublicKeyError("is neither PEM nor a JWK (JSON)") from None
    if not isinstance(read, dict):
        raise BadPublicKeyError("is no JWK: it is no JSON object")
    if "d" in read:
        raise BadPublicKeyError("is a private one: it must not leave its device")
    return read


def _curve_of(members: dict[str, Any]) -> str:
    """The curve, once the key is seen to be a point on it."""
    if not all(isinstance(value, str) for value in members.values()):
        raise BadPublicKeyError(f"lacks one of its members {', '.join(members)}")
    try:
        jwt.PyJWK(members)
    except (jwt.PyJWTError, ValueError):
        raise BadPublicKeyError(f"is no point on {members['crv'][:80]!r}") from None
    return str(members["crv"])


def _thumbprint(members: dict[str, Any]) -> str:
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
