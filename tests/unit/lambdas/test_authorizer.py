import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.devices.registry import (
    BadDeviceError,
    DeviceStatus,
    RegisteredDevice,
    RegistryUnavailableError,
)
from lambdas.authorizer.handler import authorize
from lambdas.authorizer.service import Devices, TokenRefusedError, proven_by
from tests.unit.lambdas.fakes import FakeDevices
from tests.unit.lambdas.hostile_tokens import (
    DAY_S,
    MakeToken,
    TokenDevice,
    base64url,
    hostile_tokens,
)

ARN = "arn:aws:execute-api:eu-central-1:000000000000:abc123/prod/POST/v1/streams/thermo"


DEVICE = TokenDevice(device_id="d-active")
QUARANTINED = TokenDevice(device_id="d-quarantined")
REVOKED = TokenDevice(device_id="d-revoked")
DEVICES = FakeDevices(
    DEVICE.registered(),
    QUARANTINED.registered(DeviceStatus.QUARANTINED),
    REVOKED.registered(DeviceStatus.REVOKED),
)
REFUSED = hostile_tokens(DEVICE, QUARANTINED)


def event(authorization: str | None, *, header: str = "Authorization") -> dict[str, Any]:
    headers = {} if authorization is None else {header: authorization}
    return {"type": "REQUEST", "methodArn": ARN, "headers": headers}


def now_s() -> int:
    return int(time.time())


@pytest.mark.parametrize(("refused", "why"), REFUSED.values(), ids=REFUSED)
def test_a_token_that_proves_nothing_is_refused(refused: MakeToken, why: str) -> None:
    with pytest.raises(TokenRefusedError) as refusal:
        proven_by(refused(), devices=DEVICES)

    assert refusal.value.why == why


@pytest.mark.parametrize(("refused", "why"), REFUSED.values(), ids=REFUSED)
def test_api_gateway_is_asked_to_answer_401_and_nothing_else(refused: MakeToken, why: str) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$") as refusal:
        authorize(event(f"Bearer {refused()}"), devices=DEVICES)

    assert type(refusal.value) is Exception


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", f"Basic {DEVICE.token()}", DEVICE.token()],
    ids=["none", "empty", "no token", "basic", "no scheme"],
)
def test_a_request_without_a_bearer_token_is_refused(authorization: str | None) -> None:
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        authorize(event(authorization), devices=DEVICES)


@pytest.mark.parametrize(
    "good",
    [
        DEVICE.token,
        DEVICE.eddsa_token,
        lambda: DEVICE.token(iat=now_s(), exp=now_s() + DAY_S),
        lambda: DEVICE.token(iat=now_s() - 7200, exp=now_s() - 200),
        lambda: DEVICE.token(iat=now_s() + 200, exp=now_s() + 600),
    ],
    ids=["first key", "second key", "a day", "just expired", "a clock ahead"],
)
def test_a_device_s_own_token_is_allowed(good: MakeToken) -> None:
    answer = authorize(event(f"Bearer {good()}"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_the_policy_covers_every_route_of_the_stage() -> None:
    answer = authorize(event(f"Bearer {DEVICE.token()}"), devices=DEVICES)

    (statement,) = answer["policyDocument"]["Statement"]
    assert statement["Resource"] == (
        "arn:aws:execute-api:eu-central-1:000000000000:abc123/prod/*/v1/*"
    )


def test_the_functions_behind_learn_who_sends() -> None:
    answer = authorize(event(f"Bearer {QUARANTINED.token()}"), devices=DEVICES)

    assert answer["context"] == {
        "device_id": "d-quarantined",
        "device_type": "acme-thermo",
        "status": "quarantined",
        "registered_ms": "0",
    }


def test_the_functions_behind_learn_a_device_s_attributes() -> None:
    known = replace(QUARANTINED.registered(), attributes={"site": "Ulm", "line": "3"})
    devices = FakeDevices(known)

    answer = authorize(event(f"Bearer {QUARANTINED.token()}"), devices=devices)

    assert answer["context"]["attributes"] == '{"line":"3","site":"Ulm"}'


def test_a_quarantined_device_is_allowed() -> None:
    answer = authorize(event(f"Bearer {QUARANTINED.token()}"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_a_revoked_device_is_denied() -> None:
    answer = authorize(event(f"Bearer {REVOKED.token()}"), devices=DEVICES)

    assert _effect(answer) == "Deny"


def test_two_authorization_headers_are_no_proof() -> None:
    twice = event(f"Bearer {DEVICE.token()}")
    twice["multiValueHeaders"] = {"Authorization": ["Bearer other", f"Bearer {DEVICE.token()}"]}

    with pytest.raises(Exception, match=r"^Unauthorized$"):
        authorize(twice, devices=DEVICES)


def test_a_key_that_says_what_it_is_for_is_taken_for_what_it_is() -> None:
    """However a registry's item came by an ``alg`` of its own."""
    device = TokenDevice(device_id="d-odd")
    keys = tuple(key | {"alg": "HS256"} for key in device.jwks)
    devices = FakeDevices(replace(device.registered(), keys=keys))

    answer = authorize(event(f"Bearer {device.token()}"), devices=devices)

    assert _effect(answer) == "Allow"


@pytest.mark.parametrize("kid", ["first", "second"])
def test_of_two_keys_the_one_that_signed_is_reported(
    caplog: pytest.LogCaptureFixture, kid: str
) -> None:
    token = DEVICE.token() if kid == "first" else DEVICE.eddsa_token()
    caplog.set_level("INFO")

    authorize(event(f"Bearer {token}"), devices=DEVICES)

    assert [vars(record)["kid"] for record in caplog.records] == [kid]


def test_the_header_s_name_and_scheme_may_be_in_any_case() -> None:
    answer = authorize(event(f"bearer {DEVICE.token()}", header="authorization"), devices=DEVICES)

    assert _effect(answer) == "Allow"


def test_a_registry_that_does_not_answer_is_not_the_device_s_fault() -> None:
    class Down:
        def find(self, device_id: str) -> RegisteredDevice | None:
            raise RegistryUnavailableError("time-out")

    with pytest.raises(RegistryUnavailableError):
        authorize(event(f"Bearer {DEVICE.token()}"), devices=Down())


@pytest.mark.parametrize(("refused", "why"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_logged_with_its_reason_and_without_its_token(
    caplog: pytest.LogCaptureFixture, refused: MakeToken, why: str
) -> None:
    token = refused()

    with pytest.raises(Exception, match="Unauthorized"):
        authorize(event(f"Bearer {token}"), devices=DEVICES)

    logged = str([vars(record) for record in caplog.records])
    parts = [part for part in token.split(".") if len(part) > 5]
    assert why in logged
    assert not any(part in logged for part in parts)


@given(
    st.text(max_size=300)
    | st.lists(st.binary(max_size=60), max_size=4).map(
        lambda parts: ".".join(base64url(part) for part in parts)
    )
)
def test_any_text_is_refused_and_nothing_breaks(text: str) -> None:
    with pytest.raises(TokenRefusedError):
        proven_by(text, devices=DEVICES)


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
        proven_by(f"{part}.{part}.AAAA", devices=DEVICES)


def _effect(answer: Mapping[str, Any]) -> object:
    return answer["policyDocument"]["Statement"][0]["Effect"]


class BrokenDevices:
    """A registry whose item of the device is none."""

    def find(self, device_id: str) -> RegisteredDevice | None:
        raise BadDeviceError(device_id, "has no status")


def test_a_device_whose_registration_cannot_be_read_proves_nothing() -> None:
    token = DEVICE.token()

    assert refusal_of(token, BrokenDevices()) == "bad_device"


def test_a_token_that_was_forged_for_a_key_of_small_order_is_refused() -> None:
    """With a point of order 4 as its key, every fourth message is rightly signed by nobody."""
    weak = {"kid": "weak", "kty": "OKP", "crv": "Ed25519", "x": "A" * 43}
    device = replace(DEVICE.registered(), device_id="d-weak", keys=(weak,))
    devices = FakeDevices(device)
    forged = [forged_token("d-weak", kid="weak", attempt=number) for number in range(40)]

    whys = {refusal_of(one, devices) for one in forged}

    assert whys == {"weak_key"}


def forged_token(device_id: str, *, kid: str, attempt: int) -> str:
    """R is the neutral element and S is 0: right for a key of small order, if the hash suits."""
    head = base64url(json.dumps({"alg": "EdDSA", "kid": kid}).encode())
    now = now_s()
    claims = {"sub": device_id, "aud": "fleetlane", "iat": now, "exp": now + 60, "n": attempt}
    body = base64url(json.dumps(claims).encode())
    return f"{head}.{body}.{base64url(bytes([1]) + bytes(63))}"


def refusal_of(
    token: str, devices: Devices, *, audiences: Sequence[str] = ("fleetlane",)
) -> str | None:
    try:
        proven_by(token, devices=devices, audiences=audiences)
    except TokenRefusedError as refused:
        return refused.why
    return None


@pytest.mark.parametrize(
    ("audience", "taken", "refused_for"),
    [
        ("fleetlane-prod", "fleetlane-prod", None),
        ("fleetlane-dev", "fleetlane-prod", "wrong_audience"),
        ("fleetlane", "fleetlane-prod", "wrong_audience"),
        ("fleetlane", "fleetlane-prod,fleetlane", None),
        ("fleetlane-dev", "fleetlane-prod,fleetlane", "wrong_audience"),
    ],
)
def test_a_token_is_for_its_stage_alone(audience: str, taken: str, refused_for: str | None) -> None:
    token = DEVICE.token(aud=audience)

    why = refusal_of(token, DEVICES, audiences=taken.split(","))

    assert why == refused_for
