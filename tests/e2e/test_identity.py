"""Who may send, over real HTTP: no token that proves nothing, and nobody who is held back."""

import time
from collections.abc import Callable
from typing import Final

import httpx
import pytest

from fleetlane.events.overrides import RateLimits, Restriction
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device, post, problem_in
from tests.e2e.stored import Landings
from tests.unit.lambdas.hostile_tokens import TokenDevice, hostile_tokens

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

PROBLEM: Final = "application/problem+json"
BODY: Final = b'{"entries": [], "filling": "what nobody else may ever read"}'
BITES_WITHIN_S_MAX: Final = 60.0
"""Two seconds on this platform, and what a busy machine adds."""


def test_no_token_that_proves_nothing_lets_anybody_in_or_is_in_a_log(
    running: RunningPlatform,
) -> None:
    platform, landings = running.platform, Landings(running.platform)
    device, other = TokenDevice(device_id="d-hostile-1"), TokenDevice(device_id="d-hostile-2")
    platform.registry.register_all([device.registered(), other.registered()])
    hostile = hostile_tokens(device, other)
    tokens = {name: make() for name, (make, _) in hostile.items() if name != "empty"}

    answers = {
        name: post(platform.endpoints.api, "diagnostics", BODY, token=token)
        for name, token in tokens.items()
    }

    refusal = (401, PROBLEM, "urn:fleetlane:problem:unauthenticated")
    assert {name: problem_in(answer) for name, answer in answers.items()} == dict.fromkeys(
        tokens, refusal
    )
    assert landings.new() == []
    log = (platform.settings.folder / "gateway" / "gateway.log").read_text()
    secrets = [part for token in tokens.values() for part in token.split(".") if len(part) > 5]
    assert "wrong_key" in log
    assert not any(secret in log for secret in (*secrets, BODY.decode(), device.jwks[0]["x"]))


def test_the_same_devices_are_let_in_with_tokens_of_their_own(running: RunningPlatform) -> None:
    platform, device = running.platform, TokenDevice(device_id="d-honest")
    platform.registry.register(device.registered())

    answers = [
        post(platform.endpoints.api, "diagnostics", BODY, token=token)
        for token in (device.token(), device.eddsa_token())
    ]

    assert [answer.status_code for answer in answers] == [202, 202]


def test_a_revoked_device_is_refused_though_its_token_is_known_and_good(
    running: RunningPlatform,
) -> None:
    stores = running.seen_by_operators.devices
    device = Device.registered(running.platform)
    token = device.token()
    send = _sender(device, token)
    assert send().status_code == 202

    stores.restrict([device.device_id], Restriction.REVOKED, now_ms=_now_ms())

    answer = _until(send, lambda answer: answer.status_code != 202)
    assert problem_in(answer) == (403, PROBLEM, "urn:fleetlane:problem:forbidden")
    assert answer.json()["detail"] == f"device {device.device_id} is revoked"


def test_a_quarantined_device_lands_in_the_bulk_lane_and_a_released_one_where_it_did(
    running: RunningPlatform,
) -> None:
    stores = running.seen_by_operators.devices
    device = Device.registered(running.platform)
    send = _sender(device, device.token())
    assert send().json()["lane"] == "standard"

    stores.restrict([device.device_id], Restriction.QUARANTINED, now_ms=_now_ms())
    aside = _until(send, lambda answer: answer.json().get("lane") == "bulk")
    stores.release([device.device_id], now_ms=_now_ms())
    back = _until(send, lambda answer: answer.json().get("lane") == "standard")

    assert (aside.status_code, back.status_code) == (202, 202)


def test_a_device_beyond_its_rate_limits_is_asked_to_slow_down(running: RunningPlatform) -> None:
    stores = running.seen_by_operators.devices
    device = Device.registered(running.platform)
    few = RateLimits(soft_per_minute=1, hard_per_minute=2)

    stores.overrides.change(
        lambda present: present.with_rate_limits(few, device_id=device.device_id), now_ms=_now_ms()
    )

    answer = _until(_sender(device, device.token()), lambda answer: answer.status_code != 202)
    assert problem_in(answer) == (429, PROBLEM, "urn:fleetlane:problem:slow_down")
    assert int(answer.headers["Retry-After"]) >= 5


def _sender(device: Device, token: str) -> Callable[[], httpx.Response]:
    return lambda: post(device.api, "diagnostics", BODY, token=token)


def _until(
    send: Callable[[], httpx.Response], is_wanted: Callable[[httpx.Response], bool]
) -> httpx.Response:
    """Send again and again until the answer is the one that is waited for."""
    give_up_s = time.monotonic() + BITES_WITHIN_S_MAX
    while not is_wanted(answer := send()):
        assert time.monotonic() < give_up_s, answer.text
        time.sleep(0.1)
    return answer


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
