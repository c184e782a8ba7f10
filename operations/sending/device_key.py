"""A device's key pair, and the tokens that it signs with it."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

AUDIENCE = "fleetlane"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKey:
    """An Ed25519 key pair. ``kid`` is the public key's thumbprint (RFC 7638)."""

    kid: str
    private: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> Self:
        return cls.of(Ed25519PrivateKey.generate())

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> Self:
        """Name a key that is there already."""
        members = {"crv": "Ed25519", "kty": "OKP", "x": _public_text(private)}
        digest = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest()
        return cls(kid=_base64url(digest), private=private)

    @classmethod
    def from_private_jwk(cls, jwk: Mapping[str, str]) -> Self:
        """Read what ``private_jwk`` wrote; raises KeyError or ValueError where it is none."""
        text = jwk["d"]
        seed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return cls.of(Ed25519PrivateKey.from_private_bytes(seed))

    @property
    def public_jwk(self) -> dict[str, str]:
        """What the registry keeps."""
        return {"kty": "OKP", "crv": "Ed25519", "x": _public_text(self.private), "kid": self.kid}

    @property
    def private_jwk(self) -> dict[str, str]:
        """The whole pair: for the device alone."""
        return self.public_jwk | {"d": _base64url(self.private.private_bytes_raw())}

    def token(self, device_id: str, *, now_s: int, lifetime_s: int) -> str:
        """Sign a token for the HTTP API; more than a day is refused there."""
        claims = {"sub": device_id, "aud": AUDIENCE, "iat": now_s, "exp": now_s + lifetime_s}
        return jwt.encode(claims, self.private, algorithm="EdDSA", headers={"kid": self.kid})


def _public_text(private: Ed25519PrivateKey) -> str:
    return _base64url(private.public_key().public_bytes_raw())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
