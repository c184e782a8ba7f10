"""The fleet sends as firmware must, and remembers every answer."""

import asyncio
import base64
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import IO, Any

import httpx
import pytest
from urllib3 import HTTPResponse

from clients.device_api import AUDIENCE, MessageRefusedError, NoAnswerError
from clients.devices.registry import DeviceStatus, RegisteredDevice
from fleetlane.events.names import keyed_raw_id, random_raw_id
from lambdas.authorizer.handler import authorize
from local.gateway.app import Gateway, GatewaySettings
from local.simulator.device import Expected, Outgoing, SentMessage, SimulatedDevice, signing_key
from local.simulator.sender import Sender
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetProgress, landed, run_fleet

DEVICE = SimulatedDevice(
    device_id="d-1",
    device_type="tracker",
    firmware="2.0.0",
    status=DeviceStatus.ACTIVE,
    key=signing_key(1, Random(1)),  # noqa: S311 - a test
)
MESSAGE = Outgoing(stream="gps", body=b"{}", content_type="application/json", expected=Expected())


def stored(form: Mapping[str, Any], _: IO[bytes]) -> dict[str, Any]:
    """S3, which has it all."""
    return {"id": form["id"], "landed": "object"}


class FakeApi:
    """Gives its answers one after another, then 202s; ``None`` stands for no answer."""

    def __init__(self, *statuses: int | None) -> None:
        self._statuses = list(statuses)

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HTTPResponse:
        status = self._statuses.pop(0) if self._statuses else 202
        if status is None:
            raise NoAnswerError("url", "refused")
        lane = "fast" if "/fast/" in path else "standard"
        receipt = json.dumps({"id": random_raw_id(), "lane": lane, "landed": "kafka"}).encode()
        return HTTPResponse(receipt, {"Retry-After": "0"}, status)


def sent(message: Outgoing, *statuses: int | None, patience_s: float = 10) -> SentMessage:
    sender = Sender(FakeApi(*statuses), patience_s=patience_s)
    return asyncio.run(sender.send(DEVICE, "token", message))


def test_a_202_is_the_end_of_it_and_gives_a_receipt() -> None:
    message = sent(MESSAGE)

    assert [answer.status for answer in message.answers] == [202]
    assert [receipt.raw_id for receipt in message.receipts()] == [message.final.raw_id]


def test_a_message_is_kept_until_a_202() -> None:
    message = sent(MESSAGE, 429, 503, None)

    assert [answer.status for answer in message.answers] == [429, 503, None, 202]


def test_patience_has_an_end() -> None:
    message = sent(MESSAGE, 503, 503, patience_s=0)

    assert [answer.status for answer in message.answers] == [503]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_no_retry_can_mend_is_sent_once(status: int) -> None:
    message = sent(MESSAGE, status)

    assert [answer.status for answer in message.answers] == [status]
    assert list(message.receipts()) == []


def test_after_a_lost_answer_it_is_sent_again_and_only_the_second_is_seen() -> None:
    message = sent(replace(MESSAGE, lost_answers=1))

    assert [answer.is_seen for answer in message.answers] == [False, True]
    assert [receipt.raw_id for receipt in message.receipts()] == [message.final.raw_id]


def test_a_repeat_gives_a_second_receipt() -> None:
    message = sent(replace(MESSAGE, repeats=1))

    assert len(list(message.receipts())) == 2


def test_an_unexpected_lane_is_reported() -> None:
    message = sent(replace(MESSAGE, is_fast=True))

    assert message.surprise() == "d-1 to gps: landed in lane fast, not standard"


class FakeForms:
    """An API that gives forms, and S3 that refuses by each of ``answers``, then takes bodies."""

    def __init__(self, *answers: int) -> None:
        self.bodies: list[bytes] = []
        self._answers = list(answers)

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HTTPResponse:
        form = {"id": f"of {path}", "url": "http://s3/", "fields": {}}
        return HTTPResponse(json.dumps(form).encode(), status=201)

    def take(self, form: Mapping[str, Any], body: IO[bytes]) -> dict[str, Any]:
        self.bodies.append(body.read())
        if self._answers:
            raise MessageRefusedError(self._answers.pop(0), "SlowDown", "S3 did not take the body")
        return stored(form, body)


def test_an_upload_is_accepted_once_s3_has_it() -> None:
    forms, upload = FakeForms(), replace(MESSAGE, is_upload=True)
    sender = Sender(forms, upload=forms.take, patience_s=10)

    message = asyncio.run(sender.send(DEVICE, "token", upload))

    assert [receipt.raw_id for receipt in message.receipts()] == ["of /v1/uploads/gps"]
    assert (forms.bodies, message.surprise()) == ([b"{}"], None)


def test_what_s3_did_not_take_is_uploaded_again() -> None:
    forms, upload = FakeForms(503), replace(MESSAGE, is_upload=True)
    sender = Sender(forms, upload=forms.take, patience_s=10)

    message = asyncio.run(sender.send(DEVICE, "token", upload))

    assert [answer.status for answer in message.answers] == [None, 204]


class FakeRegistry:
    def __init__(self) -> None:
        self.devices: dict[str, RegisteredDevice] = {}

    def register_all(self, devices: Iterable[RegisteredDevice]) -> None:
        self.devices = {device.device_id: device for device in devices}

    def find(self, device_id: str) -> RegisteredDevice | None:
        return self.devices.get(device_id)


def ingest(event: dict[str, Any], _: object) -> dict[str, Any]:
    """A receipt as the real function would write it, from what the gateway hands on."""
    headers, identity = event["headers"], event["requestContext"]["authorizer"]
    if event["path"] == "/v1/batch":
        return batch_answer(event["body"])
    stream = event["pathParameters"]["stream"]
    is_bulk = (
        len(event["body"] or "") > 350_000
        or "x-data-end-millis" in headers
        or identity["status"] == "quarantined"
    )
    lane = "fast" if "/fast/" in event["path"] else "bulk" if is_bulk else "standard"
    key = headers.get("idempotency-key")
    raw_id = keyed_raw_id(identity["device_id"], stream, key, b"") if key else random_raw_id()
    return {"statusCode": 202, "body": json.dumps({"id": raw_id, "lane": lane, "landed": "kafka"})}


def issue(_: dict[str, Any], __: object) -> dict[str, Any]:
    """A form as the real function would write it."""
    form = {"id": random_raw_id(), "url": "http://s3/payloads", "fields": {"key": "uploads/1"}}
    return {"statusCode": 201, "body": json.dumps(form)}


def batch_answer(body: str) -> dict[str, Any]:
    """A receipt for each entry of a batch."""
    receipts = [
        {
            "status": 202,
            "id": keyed_raw_id(one["source"], one["type"], one["id"], b""),
            "lane": "standard",
            "landed": "kafka",
        }
        for one in json.loads(base64.b64decode(body))
    ]
    return {"statusCode": 202, "body": json.dumps({"receipts": receipts})}


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


class GatewayApi:
    """The gateway with the real authorizer, without a network between."""

    def __init__(self, registry: FakeRegistry) -> None:
        def authorizer(event: dict[str, Any], _: object) -> object:
            return authorize(event, devices=registry, audiences=[AUDIENCE])

        self.gateway = Gateway(
            ingest=ingest, uploads=issue, authorizer=authorizer, settings=GatewaySettings()
        )
        self._transport = httpx.ASGITransport(self.gateway.app())

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HTTPResponse:
        request = httpx.Request("POST", f"http://api{path}", content=body, headers=headers)
        response = await self._transport.handle_async_request(request)
        return HTTPResponse(await response.aread(), status=response.status_code)


@pytest.fixture
def api(registry: FakeRegistry) -> Iterator[GatewayApi]:
    api = GatewayApi(registry)
    yield api
    api.gateway.close()


PLAN = FleetPlan(devices=40, messages_per_device=2)


def test_every_device_of_a_fleet_is_answered_as_it_expects(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    run = run_fleet(PLAN, api, registry=registry, upload=stored)

    behind = {name for name, device in registry.devices.items() if device.gateway_id}
    assert run.surprises() == ()
    assert len({message.device_id for message in run.sent} - behind) == 40


def test_a_fleet_has_devices_with_either_kind_of_key(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    run_fleet(PLAN, api, registry=registry, upload=stored)

    curves = {device.keys[0]["crv"] for device in registry.devices.values()}
    assert curves == {"Ed25519", "P-256"}


def test_resends_with_a_key_give_equal_ids_and_without_one_others(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    run = run_fleet(PLAN, api, registry=registry, upload=stored)

    ids = {
        message.device_id: [answer.raw_id for answer in message.answers]
        for message in run.sent
        if message.device_id.startswith("resends")
    }
    assert {name[:-8]: len(set(pair)) for name, pair in ids.items()} == {
        "resends-with-key": 1,
        "resends-without-key": 2,
    }


def test_a_gateway_brings_the_messages_of_the_devices_behind_it(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    run = run_fleet(PLAN, api, registry=registry, upload=stored)

    (gateway,) = {device.gateway_id for device in registry.devices.values() if device.gateway_id}
    brought = [one for one in run.sent if one.device_id.startswith(str(gateway))]
    assert len({one.device_id for one in brought}) == 9
    assert len({receipt.raw_id for one in brought for receipt in one.receipts()}) == 9 * 2


def test_progress_ends_with_all_that_was_planned(registry: FakeRegistry, api: GatewayApi) -> None:
    told: list[FleetProgress] = []

    run = run_fleet(PLAN, api, registry=registry, on_progress=told.append, upload=stored)

    assert told[-1].planned == told[-1].finished == len(run.sent)


def test_receipts_are_counted_by_where_their_messages_landed(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    told: list[FleetProgress] = []

    run = run_fleet(PLAN, api, registry=registry, on_progress=told.append, upload=stored)

    answers = [answer for message in run.sent for answer in message.answers]
    receipts = [answer for answer in answers if answer.raw_id is not None]
    assert landed(run.sent) == told[-1].landed
    assert landed(run.sent).total() == len(receipts)


def test_messages_are_spread_over_the_time_that_is_asked_for(
    registry: FakeRegistry, api: GatewayApi
) -> None:
    plan = replace(PLAN, devices=20, seconds=0.5)

    began_s = time.monotonic()
    run_fleet(plan, api, registry=registry, upload=stored)

    assert 0.4 < time.monotonic() - began_s < 30
