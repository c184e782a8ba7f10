import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from clients.device_registry import DeviceStatus, RegisteredDevice, RegistryUnavailableError
from lambdas.authorizer.handler import authorize
from lambdas.authorizer.service import TokenRefusedError, device_of
from tests.unit.lambdas.fakes import FakeDevices

EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
EC_JWK = jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True) | {"kid": "first"}
ED_JWK = jwt.algorithms.OKPAlgorithm.to_jwk(ED_KEY.public_key(), as_dict=True) | {"kid": "second"}
ARN = "arn:aws:execute-api:eu-central-1:000000000000:abc123/prod/POST/v1/streams/thermo"
DAY_S = 24 * 60 * 60


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _device(device_id: str, status: DeviceStatus) -> RegisteredDevice:
    return RegisteredDevice(
        device_id=device_id,
        device_type="acme-thermo",
        status=status,
        keys=(EC_JWK, ED_JWK),
        registered_ms=0,
    )


DEVICES = FakeDevices(
    _device("d-active", DeviceStatus.ACTIVE),
    _device("d-quarantined", DeviceStatus.QUARANTINED),
    _device("d-revoked", DeviceStatus.REVOKED),
)


def token(
    key: Any = EC_KEY,
    *,
    alg: str = "ES256",
    kid: str | None = "first",
    without: str | None = None,
    **claims: object,
) -> str:
    issued_s = now_s()
    good = {"sub": "d-active", "aud": "fleetlane", "iat": issued_s, "exp": issued_s + 3600}
    given = {name: value for name, value in (good | claims).items() if name != without}
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(given, key, algorithm=alg, headers=headers)


def signed_with_the_public_key_as_secret() -> str:
    secret = EC_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header = base64url(json.dumps({"alg": "HS256", "kid": "first"}).encode())
    _, payload, _ = token().split(".")
    signature = hmac.digest(secret, f"{header}.{payload}".encode(), hashlib.sha256)
    return f"{header}.{payload}.{base64url(signature)}"


def with_another_payload() -> str:
    header, _, signature = token().split(".")
    _, payload, _ = token(sub="d-quarantined").split(".")
    return f"{header}.{payload}.{signature}"


def event(authorization: str | None, *, header: str = "Authorization") -> dict[str, Any]:
    headers = {} if authorization is None else {header: authorization}
    return {"type": "REQUEST", "methodArn": ARN, "headers": headers}


def now_s() -> int:
    return int(time.time())


type MakeToken = Callable[[], str]
"""Made as a test runs: a token made at collection may have expired by then."""

REFUSED: dict[str, tuple[MakeToken, str]] = {
    "empty": (lambda: "", "no_token"),
    "no jwt": (lambda: "hello", "malformed"),
    "half a jwt": (lambda: token().rsplit(".", 1)[0], "malformed"),
    "payload is no object": (lambda: "e30.W10.AA", "malformed"),
    "deeply nested": (lambda: f"{base64url(b'{}')}.{base64url(b'[' * 2900)}.AA", "malformed"),
    "wrong key": (lambda: token(OTHER_KEY), "wrong_key"),
    "another device's claims": (with_another_payload, "wrong_key"),
    "expired": (lambda: token(iat=now_s() - 7200, exp=now_s() - 301), "expired"),
    "lifetime over a day": (lambda: token(exp=now_s() + DAY_S + 60), "lifetime"),
    "ends before it begins": (lambda: token(iat=now_s() + 200, exp=now_s() + 100), "lifetime"),
    "from the future": (lambda: token(iat=now_s() + 600, exp=now_s() + 900), "not_yet_valid"),
    "wrong audience": (lambda: token(aud="elsewhere"), "wrong_audience"),
    "no audience": (lambda: token(without="aud"), "claim_missing"),
    "no end": (lambda: token(without="exp"), "claim_missing"),
    "no beginning": (lambda: token(without="iat"), "claim_missing"),
    "endless": (lambda: token(exp=float("inf")), "malformed"),
    "no subject": (lambda: token(without="sub"), "malformed"),
    "subject no device id": (lambda: token(sub="a/b"), "malformed"),
    "alg none": (lambda: token("", alg="none"), "wrong_algorithm"),
    "hs256 with the public key": (
        signed_with_the_public_key_as_secret,
        "wrong_algorithm",
    ),
    "eddsa with the ec key's id": (
        lambda: token(ED_KEY, alg="EdDSA", kid="first"),
        "wrong_algorithm",
    ),
    "unknown kid": (lambda: token(kid="third"), "unknown_key"),
    "no kid": (lambda: token(kid=None), "malformed"),
    "unknown device": (lambda: token(sub="d-nobody"), "unknown_device"),
    "huge": (lambda: token(more="x" * 4096), "token_too_large"),
}


@pytest.mark.parametrize(("refused", "why"), REFUSED.values(), ids=REFUSED)
def test_a_token_that_proves_nothing_is_refused(refused: MakeToken, why: str) -> None:
    with pytest.raises(TokenRefusedError) as refusal:
        device_of(refused(), devices=DEVICES)

    assert refusal.value.why == why


@pytest.mark.parametrize(("refused", "why"), REFUSED.values(), ids=REFUSED)
def test_api_gateway_is_told_to_answer_401_and_nothing_else(refused: MakeToken, why: str) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$") as refusal:
        authorize(event(f"Bearer {refused()}"), devices=DEVICES)

    assert type(refusal.value) is Exception


@pytest.mark.parametrize("authorization", [None, "", "Bearer", f"Basic {token()}", token()])
def test_a_request_without_a_bearer_token_is_refused(authorization: str | None) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        authorize(event(authorization), devices=DEVICES)


@pytest.mark.parametrize(
    "good",
    [
        token,
        lambda: token(ED_KEY, alg="EdDSA", kid="second"),
        lambda: token(iat=now_s(), exp=now_s() + DAY_S),
        lambda: token(iat=now_s() - 7200, exp=now_s() - 200),
        lambda: token(iat=now_s() + 200, exp=now_s() + 600),
    ],
    ids=["first key", "second key", "a day", "just expired", "a clock ahead"],
)
def test_a_device_s_own_token_is_allowed(good: MakeToken) -> None:
    answer = authorize(event(f"Bearer {good()}"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_the_policy_covers_every_route_of_the_stage() -> None:
    answer = authorize(event(f"Bearer {token()}"), devices=DEVICES)

    (statement,) = answer["policyDocument"]["Statement"]
    assert statement["Resource"] == (
        "arn:aws:execute-api:eu-central-1:000000000000:abc123/prod/*/v1/*"
    )


def test_the_functions_behind_learn_who_sends() -> None:
    answer = authorize(event(f"Bearer {token(sub='d-quarantined')}"), devices=DEVICES)

    assert answer["context"] == {
        "device_id": "d-quarantined",
        "device_type": "acme-thermo",
        "status": "quarantined",
    }


def test_a_quarantined_device_is_allowed() -> None:
    answer = authorize(event(f"Bearer {token(sub='d-quarantined')}"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_a_revoked_device_is_denied() -> None:
    answer = authorize(event(f"Bearer {token(sub='d-revoked')}"), devices=DEVICES)

    assert _effect(answer) == "Deny"


def test_the_header_s_name_and_scheme_may_be_in_any_case() -> None:
    answer = authorize(event(f"bearer {token()}", header="authorization"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_a_registry_that_does_not_answer_is_not_the_device_s_fault() -> None:
    class Down:
        def find(self, device_id: str) -> RegisteredDevice | None:
            raise RegistryUnavailableError("time-out")

    with pytest.raises(RegistryUnavailableError):
        authorize(event(f"Bearer {token()}"), devices=Down())


def test_a_refusal_is_logged_with_its_reason_and_without_its_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = token(OTHER_KEY)

    with pytest.raises(Exception, match="Unauthorized"):
        authorize(event(f"Bearer {refused}"), devices=DEVICES)

    logged = str([vars(record) for record in caplog.records])
    assert "wrong_key" in logged
    assert not any(part in logged for part in refused.split("."))


@given(
    st.text(max_size=300)
    | st.lists(st.binary(max_size=60), max_size=4).map(
        lambda parts: ".".join(base64url(part) for part in parts)
    )
)
def test_any_text_is_refused_and_nothing_breaks(text: str) -> None:
    with pytest.raises(TokenRefusedError):
        device_of(text, devices=DEVICES)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.dictionaries(
            st.sampled_from(["alg", "kid", "sub", "aud", "exp", "iat", "crit", "b64", "typ"]), inner
        ),
    )
)
def test_any_json_is_refused_and_nothing_breaks(value: object) -> None:
    part = base64url(json.dumps(value).encode())

    with pytest.raises(TokenRefusedError):
        device_of(f"{part}.{part}.AAAA", devices=DEVICES)


def _effect(answer: Mapping[str, Any]) -> object:
    return answer["policyDocument"]["Statement"][0]["Effect"]
