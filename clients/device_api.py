"""The HTTP API as a device uses it: its key and tokens; one message, or a large body by upload."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, Self
from urllib.parse import quote

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.names import audience_of

AUDIENCE: Final = audience_of("local")
"""Of the platform on this machine."""

type PrivateKey = Ed25519PrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKey:
    """A key pair: Ed25519, or P-256, which older secure elements have instead.

    ``kid`` is the public key's thumbprint (RFC 7638).
    """

    kid: str
    private: PrivateKey

    @classmethod
    def generate(cls) -> Self:
        return cls.of(Ed25519PrivateKey.generate())

    @classmethod
    def of(cls, private: PrivateKey) -> Self:
        """Name a key that is there already."""
        return cls(kid=thumbprint(_unnamed_jwk(private.public_key())), private=private)

    @classmethod
    def from_private_jwk(cls, jwk: Mapping[str, str]) -> Self:
        """Read what ``private_jwk`` wrote; raises KeyError or ValueError where it is none."""
        text = jwk["d"]
        if jwk.get("kty", "OKP") != "OKP":
            raise ValueError("is no Ed25519 key")
        seed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return cls.of(Ed25519PrivateKey.from_private_bytes(seed))

    @property
    def public_jwk(self) -> dict[str, str]:
        """What the registry keeps."""
        return _unnamed_jwk(self.private.public_key()) | {"kid": self.kid}

    @property
    def private_jwk(self) -> dict[str, str]:
        """The whole pair: for the device alone."""
        return _unnamed_jwk(self.private) | {"kid": self.kid}

    def token(
        self, device_id: str, *, now_s: int, lifetime_s: int, audience: str = AUDIENCE
    ) -> str:
        """Sign a token for a stage's HTTP API; more than a day is refused there."""
        claims = {"sub": device_id, "aud": audience, "iat": now_s, "exp": now_s + lifetime_s}
        algorithm = "EdDSA" if isinstance(self.private, Ed25519PrivateKey) else "ES256"
        return jwt.encode(claims, self.private, algorithm=algorithm, headers={"kid": self.kid})


def thumbprint(members: Mapping[str, Any]) -> str:
    """A public key's name by what it consists of (RFC 7638)."""
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _unnamed_jwk(key: PrivateKey | Ed25519PublicKey | ec.EllipticCurvePublicKey) -> dict[str, str]:
    if isinstance(key, (Ed25519PrivateKey, Ed25519PublicKey)):
        return OKPAlgorithm.to_jwk(key, as_dict=True)
    return ECAlgorithm.to_jwk(key, as_dict=True)


UPLOADED: Final = 204
"""What S3 answers once it holds all of a body."""

_ANSWER_TIMEOUT_S: Final = 30.0
_DETAIL_CHARS_MAX: Final = 500
_S3_CODE: Final = re.compile("<Code>(\\w+)</Code>")


class MessageRefusedError(FleetlaneError):
    """The API answered with a problem (RFC 9457)."""

    status: int
    tag: str
    detail: str
    sentence = "{status} {tag}: {detail}"


class NoAnswerError(FleetlaneError):
    """The API did not answer; the message may have landed. Sending it again is safe with a key."""

    url: str
    problem: str
    sentence = "{url} did not answer: {problem}"


def message_url(api: str, stream: str, lane: Lane) -> str:
    """Where a message of this stream is sent: the fast lane has an endpoint of its own."""
    route = "fast" if lane is Lane.FAST else "streams"
    return f"{api.rstrip('/')}/v1/{route}/{quote(stream, safe='')}"


def sent(url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Send one message and return its receipt.

    Raises ``MessageRefusedError`` where no 202 came back, ``NoAnswerError`` where nothing did.
    """
    answer = _posted(url, content=body, headers=dict(headers))
    return content_of(answer, wanted=httpx.codes.ACCEPTED)


def declaration_of(body: bytes, *, content_type: str) -> dict[str, Any]:
    """What the API must know of a body before it is uploaded."""
    digest = hashlib.sha256(body).hexdigest()
    return {"bytes": len(body), "sha256": digest, "content_type": content_type}


def upload_form(api: str, stream: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Request a form for a body of the ``Content-Type`` in ``headers``; raises as ``sent``."""
    declaration = declaration_of(body, content_type=headers["Content-Type"])
    json_headers = {**headers, "Content-Type": "application/json"}
    url = f"{api.rstrip('/')}/v1/uploads/{quote(stream, safe='')}"
    answer = _posted(url, json=declaration, headers=json_headers)
    return content_of(answer, wanted=httpx.codes.CREATED)


def uploaded(form: Mapping[str, Any], body: IO[bytes]) -> dict[str, Any]:
    """Send a body with its form and return the receipt.

    Raises ``MessageRefusedError`` with S3's own code as its tag, or ``NoAnswerError``: then the
    same form may be used again.
    """
    answer = _posted(form["url"], data=form["fields"], files={"file": body})
    if answer.status_code != UPLOADED:
        code = _S3_CODE.search(answer.text)
        tag = "unexpected" if code is None else code[1]
        raise MessageRefusedError(answer.status_code, tag, "S3 did not take the body")
    return {"id": form["id"], "landed": "object"}


def _posted(url: str, **request: object) -> httpx.Response:
    try:  # a proxy of the user's does not reach 127.0.0.1: hence trust_env
        return httpx.post(url, timeout=_ANSWER_TIMEOUT_S, trust_env=False, **request)  # type: ignore[arg-type]
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise NoAnswerError(url, str(problem) or type(problem).__name__) from problem


def content_of(answer: httpx.Response, *, wanted: int) -> dict[str, Any]:
    """Read an answer of the API; raises ``MessageRefusedError`` unless its status is ``wanted``."""
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.status_code != wanted or not isinstance(content, dict):
        problem = content if isinstance(content, dict) else {}
        tag = str(problem.get("type", "unexpected")).rpartition(":")[2]  # RFC 9457: a URN
        detail = str(problem.get("detail") or problem.get("title") or answer.text)
        raise MessageRefusedError(answer.status_code, tag, detail[:_DETAIL_CHARS_MAX])
    return content
