"""Tokens that must let nobody in, and the keys that they are made with. Used over HTTP too."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from clients.devices.registry import DeviceStatus, RegisteredDevice

DAY_S = 24 * 60 * 60
FIRST, SECOND = "first", "second"

type MakeToken = Callable[[], str]
"""Made as a test runs: a token made at collection may have expired by then."""


@dataclass(frozen=True, kw_only=True)
class TokenDevice:
    """A device with an ES256 key, named ``first``, and an EdDSA key, named ``second``."""

    device_id: str
    es256: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    eddsa: ed25519.Ed25519PrivateKey = field(default_factory=ed25519.Ed25519PrivateKey.generate)

    @property
    def jwks(self) -> tuple[dict[str, str], dict[str, str]]:
        es256 = jwt.algorithms.ECAlgorithm.to_jwk(self.es256.public_key(), as_dict=True)
        eddsa = jwt.algorithms.OKPAlgorithm.to_jwk(self.eddsa.public_key(), as_dict=True)
        return es256 | {"kid": FIRST}, eddsa | {"kid": SECOND}

    def registered(self, status: DeviceStatus = DeviceStatus.ACTIVE) -> RegisteredDevice:
        return RegisteredDevice(
            device_id=self.device_id,
            device_type="acme-thermo",
            status=status,
            keys=self.jwks,
            registered_ms=0,
        )

    def claims(self, **others: object) -> dict[str, object]:
        now_s = int(time.time())
        good = {"sub": self.device_id, "aud": "fleetlane", "iat": now_s, "exp": now_s + 3600}
        return {name: value for name, value in (good | others).items() if value is not None}

    def token(self, *, kid: str | None = FIRST, **claims: object) -> str:
        """A good ES256 token, but for the claims given; ``None`` leaves one out."""
        return self.signed(json.dumps(self.claims(**claims)), kid=kid)

    def eddsa_token(self, *, kid: str = SECOND) -> str:
        headers = {"kid": kid}
        return jwt.encode(self.claims(), self.eddsa, algorithm="EdDSA", headers=headers)

    def signed(self, payload: str, *, kid: str | None = FIRST, **headers: object) -> str:
        """Any payload with any further headers, rightly signed with the ES256 key."""
        named = ({} if kid is None else {"kid": kid}) | headers
        return jwt.api_jws.encode(payload.encode(), self.es256, algorithm="ES256", headers=named)

    def signed_by_hand(self, header: str, payload: str) -> str:
        """A header, too, as nobody's library writes it."""
        signed = f"{base64url(header.encode())}.{base64url(payload.encode())}"
        signature = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256, ec.SECP256R1)
        return f"{signed}.{base64url(signature.sign(signed.encode(), self.es256))}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def hostile_tokens(device: TokenDevice, other: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    """By name: how to make it, and why it is refused. Both devices are registered and active."""
    return {
        **_no_tokens(),
        **_wrongly_signed(device, other),
        **_wrong_keys(device, other),
        **_wrong_times(device),
        **_wrong_claims(device, other),
        **_wrong_headers(device),
    }


def _no_tokens() -> Mapping[str, tuple[MakeToken, str]]:
    return {
        "empty": (lambda: "", "no_token"),
        "no jwt": (lambda: "hello", "malformed"),
        "payload is no object": (lambda: f"{_header(alg='ES256')}.W10.AA", "malformed"),
        "header is no object": (lambda: "W10.e30.AA", "malformed"),
        "deeply nested": (
            lambda: f"{_header(alg='ES256')}.{base64url(b'[' * 2900)}.AA",
            "malformed",
        ),
    }


def _wrongly_signed(device: TokenDevice, other: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    return {
        "half a jwt": (lambda: device.token().rsplit(".", 1)[0], "malformed"),
        "no signature": (lambda: device.token().rsplit(".", 1)[0] + ".", "wrong_key"),
        "another key": (lambda: _claiming(other, device.device_id), "wrong_key"),
        "another token's claims": (lambda: _with_the_payload_of(device, other), "wrong_key"),
        "alg none": (lambda: _unsigned(device, "none"), "wrong_algorithm"),
        "alg None": (lambda: _unsigned(device, "None"), "wrong_algorithm"),
        "hs256 with the public key in pem": (
            lambda: _hs256(device, _pem(device)),
            "wrong_algorithm",
        ),
        "hs256 with the public key's x": (
            lambda: _hs256(device, device.jwks[0]["x"].encode()),
            "wrong_algorithm",
        ),
        "said to be es256, keyed with the public key": (
            lambda: _hs256(device, _pem(device), alg="ES256"),
            "wrong_key",
        ),
        "another curve": (lambda: _p384(device), "wrong_key"),
        "es384": (lambda: _p384(device, alg="ES384"), "wrong_algorithm"),
    }


def _wrong_keys(device: TokenDevice, other: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    kids = {
        "a path": "../../../../dev/null",
        "sql": "first' OR '1'='1",
        "an expression": 'first" OR attribute_exists(device_id)',
        "a nul": "first\0",
        "in another case": "FIRST",
        "empty": "",
        "a list's place": "0",
    }
    wrong_kids: dict[str, tuple[MakeToken, str]] = {
        f"kid is {name}": (lambda kid=kid: device.token(kid=kid), "unknown_key")  # type: ignore[misc]
        for name, kid in kids.items()
    }
    return wrong_kids | {
        "kid of the other key": (lambda: device.token(kid=SECOND), "wrong_algorithm"),
        "eddsa with the kid of the es256 key": (
            lambda: device.eddsa_token(kid=FIRST),
            "wrong_algorithm",
        ),
        "another device's name under this one's kid": (
            lambda: device.token(sub=other.device_id),
            "wrong_key",
        ),
        "no kid": (lambda: device.token(kid=None), "malformed"),
        "kid too long": (lambda: device.token(kid="k" * 129), "malformed"),
        "kid is a number": (lambda: _odd_kid(device, 1), "malformed"),
        "kid is a list": (lambda: _odd_kid(device, ["first"]), "malformed"),
    }


def _wrong_times(device: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    return {
        "expired": (lambda: device.token(iat=now_s() - 7200, exp=now_s() - 301), "expired"),
        "lifetime over a day": (lambda: device.token(exp=now_s() + DAY_S + 60), "lifetime"),
        "lives for ever": (lambda: device.token(exp=2**53), "lifetime"),
        "ends before it begins": (
            lambda: device.token(iat=now_s() + 200, exp=now_s() + 100),
            "lifetime",
        ),
        "from the future": (
            lambda: device.token(iat=now_s() + 600, exp=now_s() + 900),
            "not_yet_valid",
        ),
        "not valid yet": (lambda: device.token(nbf=now_s() + 600), "not_yet_valid"),
        "endless": (lambda: device.token(exp=float("inf")), "malformed"),
        "times are text": (lambda: device.token(iat="now", exp="then"), "malformed"),
        "no end": (lambda: device.token(exp=None), "claim_missing"),
        "no beginning": (lambda: device.token(iat=None), "claim_missing"),
    }


def now_s() -> int:
    return int(time.time())


def _wrong_claims(device: TokenDevice, other: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    def repeated(name: str, value: str) -> str:
        return json.dumps(device.claims())[:-1] + f', "{name}": {json.dumps(value)}}}'

    return {
        "wrong audience": (lambda: device.token(aud="elsewhere"), "wrong_audience"),
        "no audience": (lambda: device.token(aud=None), "claim_missing"),
        "no subject": (lambda: device.token(sub=None), "malformed"),
        "subject is no device id": (lambda: device.token(sub="a/b"), "malformed"),
        "subject is a list": (lambda: device.token(sub=[device.device_id]), "malformed"),
        "unknown device": (lambda: device.token(sub=f"{device.device_id}-x"), "unknown_device"),
        "another device's subject said second": (
            lambda: device.signed(repeated("sub", other.device_id)),
            "repeated_name",
        ),
        "the same claim twice": (
            lambda: device.signed(repeated("aud", "fleetlane")),
            "repeated_name",
        ),
        "a token in a token": (lambda: device.signed(json.dumps(device.token())), "malformed"),
        "huge": (lambda: device.token(more="x" * 4096), "token_too_large"),
    }


def _wrong_headers(device: TokenDevice) -> Mapping[str, tuple[MakeToken, str]]:
    headers: Mapping[str, object] = {
        "jku": "http://127.0.0.1/keys.json",
        "x5u": "http://127.0.0.1/key.pem",
        "jwk": device.jwks[0],
        "crit": ["exp"],
        "cty": "JWT",
        "zip": "DEF",
    }
    unknown: dict[str, tuple[MakeToken, str]] = {
        f"header {name}": (
            lambda name=name, value=value: device.signed(  # type: ignore[misc]
                json.dumps(device.claims()), **{name: value}
            ),
            "unknown_header",
        )
        for name, value in headers.items()
    }
    return unknown | {
        "alg twice": (
            lambda: device.signed_by_hand(
                '{"alg": "none", "alg": "ES256", "kid": "first"}', json.dumps(device.claims())
            ),
            "repeated_name",
        ),
        "kid twice": (
            lambda: device.signed_by_hand(
                '{"alg": "ES256", "kid": "second", "kid": "first"}', json.dumps(device.claims())
            ),
            "repeated_name",
        ),
    }


def _header(**names: object) -> str:
    return base64url(json.dumps(names).encode())


def _claiming(signer: TokenDevice, device_id: str) -> str:
    return signer.token(sub=device_id)


def _with_the_payload_of(device: TokenDevice, other: TokenDevice) -> str:
    header, _, signature = device.token().split(".")
    _, payload, _ = other.token().split(".")
    return f"{header}.{payload}.{signature}"


def _unsigned(device: TokenDevice, alg: str) -> str:
    payload = base64url(json.dumps(device.claims()).encode())
    return f"{_header(alg=alg, kid=FIRST)}.{payload}."


def _pem(device: TokenDevice) -> bytes:
    public = device.es256.public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _hs256(device: TokenDevice, secret: bytes, *, alg: str = "HS256") -> str:
    signed = f"{_header(alg=alg, kid=FIRST)}.{base64url(json.dumps(device.claims()).encode())}"
    signature = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64url(signature)}"


def _p384(device: TokenDevice, *, alg: str = "ES256") -> str:
    signed = f"{_header(alg=alg, kid=FIRST)}.{base64url(json.dumps(device.claims()).encode())}"
    algorithm = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA384, ec.SECP384R1)
    key = ec.generate_private_key(ec.SECP384R1())
    return f"{signed}.{base64url(algorithm.sign(signed.encode(), key))}"


def _odd_kid(device: TokenDevice, kid: Any) -> str:
    header = json.dumps({"alg": "ES256", "kid": kid})
    return device.signed_by_hand(header, json.dumps(device.claims()))
