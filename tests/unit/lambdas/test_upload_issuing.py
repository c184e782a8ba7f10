"""Asking for an upload: what is declared is checked, and fixed, before a byte of it is sent."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.overrides import cached_overrides
from clients.devices.registry import DeviceStatus, RegisteredDevice, RegistryUnavailableError
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.names import content_raw_id, keyed_raw_id
from fleetlane.events.overrides import DeviceOverride, Overrides, RateLimits, Restriction
from lambdas.http.rate_limiter import RateLimiter
from lambdas.uploads.handler import answer
from lambdas.uploads.service import Issuing
from tests.unit.lambdas.api_gateway import Finds
from tests.unit.lambdas.fake_overrides import FakeOverrides
from tests.unit.lambdas.fakes import FakeDevices, FakeFlows
from tests.unit.lambdas.upload_fakes import FakeForms

NOW_MS = 1_793_714_705_000
"""2026-11-03T14:05:05Z."""

DIGEST = hashlib.sha256(b"hello").digest()
DECLARED: Mapping[str, Any] = {"bytes": 6_000_000, "sha256": DIGEST.hex()}
OF_ANOTHER: Mapping[str, Any] = {**DECLARED, "source": "/devices/d-1"}
GATEWAY: Mapping[str, str] = {"device_id": "gw-1", "device_type": "gateway", "status": "active"}
ACTIVE: Mapping[str, str] = {"device_id": "d-1", "device_type": "press", "status": "active"}
BOUND = RegisteredDevice(
    device_id="d-1",
    device_type="press",
    status=DeviceStatus.ACTIVE,
    keys=(),
    gateway_id="gw-1",
    registered_ms=0,
)


class World:
    """Issuing, and the forms that it signed."""

    def __init__(
        self, *flows: Flow, overrides: Overrides | None = None, registry: Finds | None = None
    ) -> None:
        self.forms, self.flows = FakeForms(), FakeFlows(*flows)
        self.issuing = Issuing(
            rate_limiter=RateLimiter(
                cached_overrides(FakeOverrides(overrides).read, on_unavailable=lambda _: None),
                of_stage=None,
                on_over_rate_limit=lambda *_: None,
            ),
            devices=CachedBoundDevices((registry or FakeDevices()).find_all),
            flows=self.flows,
            sign=self.forms.signed,
            upload_bytes_max=10_000_000,
        )

    def ask(
        self,
        declared: object = DECLARED,
        *,
        headers: Mapping[str, str] | None = None,
        identity: Mapping[str, str] | None = ACTIVE,
        stream: str = "dumps",
    ) -> tuple[int, dict[str, Any]]:
        body = declared if isinstance(declared, bytes) else json.dumps(declared).encode()
        event = {
            "pathParameters": {"stream": stream},
            "headers": dict(headers or {}),
            "requestContext": {"authorizer": identity},
            "body": base64.b64encode(body).decode(),
            "isBase64Encoded": True,
        }
        answered = answer(event, self.issuing, now_ms=NOW_MS)
        return answered["statusCode"], json.loads(answered["body"])


class Away:
    """A registry that does not answer."""

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]:
        raise RegistryUnavailableError("no answer")


def flow(more: str) -> Flow:
    text = f'stream = "dumps"\nowner = "acme"\n{more}\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file="dumps.toml")


def test_a_device_is_given_a_form_that_names_its_message() -> None:
    world = World()

    status, ticket = world.ask()

    assert status == 201
    assert ticket == {
        "id": ticket["id"],
        "url": "https://s3/payloads",
        "fields": {"key": f"uploads/2026-11-03T14-05/{ticket['id']}"},
        "expires_after_s": 900,
    }


def test_what_is_declared_is_fixed_in_the_form() -> None:
    world = World()
    headers = {
        "X-Firmware-Version": "2.1",
        "X-Data-Start-Millis": "1",
        "X-Data-End-Millis": "2",
        "X-Body-Encoding": "zstd",
        "Content-Type": "application/json",
    }

    world.ask({**DECLARED, "content_type": "text/csv"}, headers=headers)

    [(_, issued)] = world.forms.signed_for
    assert (issued.device_id, issued.device_type, issued.stream) == ("d-1", "press", "dumps")
    assert (issued.body_bytes, issued.sha256) == (6_000_000, DIGEST.hex())
    assert (issued.content_type, issued.firmware, issued.body_encoding) == (
        "text/csv",
        "2.1",
        "zstd",
    )
    assert (issued.start_millis, issued.end_millis, issued.is_quarantined) == (1, 2, False)


def test_a_quarantined_device_s_uploads_are_marked_as_such() -> None:
    world = World()

    world.ask(identity={**ACTIVE, "status": "quarantined"})

    assert world.forms.signed_for[0][1].is_quarantined


def test_an_override_marks_a_device_s_uploads_at_once() -> None:
    held = DeviceOverride(status=Restriction.QUARANTINED)
    world = World(overrides=Overrides(devices={"d-1": held}))

    world.ask()

    assert world.forms.signed_for[0][1].is_quarantined


def test_a_device_that_was_just_revoked_gets_no_form() -> None:
    held = DeviceOverride(status=Restriction.REVOKED)
    world = World(overrides=Overrides(devices={"d-1": held}))

    status, problem = world.ask()

    assert (status, problem["type"]) == (403, "urn:fleetlane:problem:forbidden")
    assert world.forms.signed_for == []


def test_rate_limits_are_for_forms_too_the_soft_one_diverts_and_the_hard_one_refuses() -> None:
    world = World(overrides=Overrides(rate_limits=RateLimits(soft_per_minute=1, hard_per_minute=2)))

    answers = [world.ask() for _ in range(3)]

    assert [status for status, _ in answers] == [201, 201, 429]
    assert answers[2][1]["type"] == "urn:fleetlane:problem:slow_down"
    assert [issued.is_quarantined for _, issued in world.forms.signed_for] == [False, True]


def test_the_bytes_of_uploads_count_too() -> None:
    few = RateLimits(
        soft_per_minute=9, hard_per_minute=9, soft_bytes_per_minute=1, hard_bytes_per_minute=1
    )
    world = World(overrides=Overrides(rate_limits=few))

    answers = [world.ask() for _ in range(2)]

    assert [status for status, _ in answers] == [201, 429]


def test_a_gateway_is_given_a_form_for_a_device_that_is_bound_to_it() -> None:
    world = World(registry=FakeDevices(BOUND))

    _, ticket = world.ask(OF_ANOTHER, identity=GATEWAY, headers={"Idempotency-Key": "k"})

    [(_, issued)] = world.forms.signed_for
    assert (issued.device_id, issued.device_type, issued.via) == ("d-1", "press", "gw-1")
    assert ticket["id"] == keyed_raw_id("d-1", "dumps", "k", DIGEST)


def test_a_device_that_names_itself_speaks_for_nobody_else() -> None:
    world = World()

    world.ask(OF_ANOTHER)

    assert world.forms.signed_for[0][1].via is None


@pytest.mark.parametrize(
    ("bound", "problem"),
    [
        ((), "device gw-1 may not send for device d-1"),
        ([replace(BOUND, gateway_id="gw-2")], "device gw-1 may not send for device d-1"),
        ([replace(BOUND, status=DeviceStatus.REVOKED)], "device d-1 is revoked"),
    ],
)
def test_a_gateway_gets_no_form_for_a_device_that_is_not_its_own_or_may_not_send(
    bound: Iterable[RegisteredDevice], problem: str
) -> None:
    world = World(registry=FakeDevices(*bound))

    status, answered = world.ask(OF_ANOTHER, identity=GATEWAY)

    assert (status, answered["detail"]) == (403, problem)
    assert world.forms.signed_for == []


def test_who_asks_for_strangers_beyond_its_rate_limit_is_refused_before_the_registry_is_asked() -> (
    None
):
    registry = FakeDevices()
    limits = Overrides(rate_limits=RateLimits(soft_per_minute=1, hard_per_minute=2))
    world = World(overrides=limits, registry=registry)

    answers = [world.ask(OF_ANOTHER, identity=GATEWAY)[0] for _ in range(4)]

    assert answers == [403, 403, 429, 429]
    assert registry.looked_up == 2


def test_while_the_registry_is_unavailable_a_gateway_is_asked_to_come_again() -> None:
    world = World(registry=Away())

    status, _ = world.ask(OF_ANOTHER, identity=GATEWAY)

    assert (status, world.forms.signed_for) == (503, [])


def test_a_key_gives_the_id_that_a_message_of_the_same_bytes_would_have() -> None:
    _, ticket = World().ask(headers={"Idempotency-Key": "k"})

    assert ticket["id"] == keyed_raw_id("d-1", "dumps", "k", DIGEST)


def test_a_flow_that_dedupes_by_content_gives_equal_bodies_one_id() -> None:
    _, ticket = World(flow("dedupe_by_content = true")).ask()

    assert ticket["id"] == content_raw_id("d-1", "dumps", DIGEST)


def test_without_a_key_every_upload_is_another_message() -> None:
    world = World(flow(""))

    assert world.ask()[1]["id"] != world.ask()[1]["id"]


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (b"", "the body declares no upload"),
        (b"\xff", "the body declares no upload"),
        ({"bytes": 1}, "missing required field `sha256`"),
        ({**DECLARED, "bytes": 0}, "`float` >= 1"),
        ({**DECLARED, "bytes": 6.5}, "allowed: whole numbers"),
        ({**DECLARED, "bytes": "6"}, "`$.bytes`"),
        ({**DECLARED, "sha256": "ab"}, "`$.sha256`"),
        ({**DECLARED, "sha": "ab"}, "unknown field `sha`"),
        ({**DECLARED, "content_type": "\n"}, "`content_type` is"),
        ({**DECLARED, "source": "d-1"}, "`$.source`"),
        ({**DECLARED, "source": None}, "`$.source`"),
        ({**DECLARED, "source": ""}, "`$.source`"),
        (bytes(5000), "the declaration is 5000 bytes; the limit is 4096 bytes"),
    ],
)
def test_what_declares_no_upload_is_refused_with_the_reason(declared: object, told: str) -> None:
    world = World()

    status, problem = world.ask(declared)

    assert (status, problem["type"]) == (400, "urn:fleetlane:problem:bad_request")
    assert told in problem["detail"]
    assert world.forms.signed_for == []


def test_an_upload_of_data_in_no_year_is_refused_with_the_limits() -> None:
    world = World()

    status, problem = world.ask(headers={"X-Data-End-Millis": "-999999999999999999"})

    assert (status, problem["type"]) == (400, "urn:fleetlane:problem:bad_request")
    assert "-62135596800000 to 253402300799999" in problem["detail"]
    assert world.forms.signed_for == []


def test_more_than_may_be_uploaded_is_too_large() -> None:
    status, problem = World().ask({**DECLARED, "bytes": 10_000_001})

    assert (status, problem["detail"]) == (
        413,
        "the body is 10000001 bytes; the limit is 10000000 bytes",
    )


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"identity": None}, 401),
        ({"identity": {**ACTIVE, "status": "revoked"}}, 403),
        ({"stream": "Dumps"}, 404),
        ({"headers": {"X-Firmware-Version": "2 1"}}, 400),
    ],
)
def test_who_may_not_send_gets_no_form(asked: dict[str, Any], status: int) -> None:
    world = World()

    answered, _ = world.ask(**asked)

    assert (answered, world.forms.signed_for) == (status, [])


def test_while_the_flows_cannot_be_read_a_device_is_asked_to_come_again() -> None:
    world = World()
    world.flows.is_up = False

    status, problem = world.ask()

    assert (status, problem["type"]) == (503, "urn:fleetlane:problem:try_later")


def test_neither_digest_nor_form_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    World().ask()
    World().ask({**DECLARED, "sha": "ab"})

    printed = "".join(capsys.readouterr())
    assert DIGEST.hex() not in printed
    assert "https://s3" not in printed
