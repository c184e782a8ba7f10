"""An ES256 key pair: what older secure elements have in place of Ed25519."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
)
from jwt.algorithms import ECAlgorithm

from operations.sending.device_key import AUDIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Es256Key:
    """A P-256 key pair; ``public_jwk`` names it by its thumbprint (RFC 7638), as ``kid``."""

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
