"""Batches over real HTTP, with the real registry, S3 and Kafka behind them."""

import secrets
from dataclasses import replace

import httpx
import pytest

from clients.devices.registry import DeviceStatus
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import INLINE_BYTES_MAX
from local.platform import Platform
from tests.e2e.devices import Device
from tests.e2e.stored import Landings, record_of
from tests.unit.lambdas.cloud_events import entry

pytestmark = [pytest.mark.kafka, pytest.mark.localstack]


def post_batch(device: Device, *entries: object) -> httpx.Response:
    return httpx.post(
        f"{device.api}/v1/batch",
        json=entries,
        headers={
            "Authorization": f"Bearer {device.token()}",
            "Content-Type": "application/cloudevents-batch+json",
        },
        timeout=30,
        trust_env=False,
    )


def bound_to(edge: Platform, gateway: Device, status: DeviceStatus = DeviceStatus.ACTIVE) -> str:
    """Register a device that the gateway may speak for, and return its id."""
    device = Device.registered(edge)
    found = edge.registry.find(device.device_id)
    assert found is not None
    edge.registry.register(replace(found, gateway_id=gateway.device_id, status=status))
    return device.device_id


def test_one_bad_entry_stops_no_other_and_each_is_answered(edge: Platform, device: Device) -> None:
    landings = Landings(edge)

    answer = post_batch(
        device,
        entry("e-1", device=device.device_id, data=1),
        entry("e-2", device=device.device_id, data_base64="not base64"),
        entry("e-3", device=device.device_id, data=3),
    )

    receipts = answer.json()["receipts"]
    assert answer.status_code == 207
    assert [one["status"] for one in receipts] == [202, 400, 202]
    assert sorted(landings.new()) == sorted(one["id"] for one in receipts if "id" in one)


def test_a_gateway_s_devices_land_as_themselves_and_foreign_ones_do_not(
    edge: Platform, device: Device
) -> None:
    behind, revoked = bound_to(edge, device), bound_to(edge, device, DeviceStatus.REVOKED)
    foreign = Device.registered(edge).device_id

    answer = post_batch(
        device, *(entry("e", device=one, data=1) for one in (behind, revoked, foreign, "nobody"))
    )

    receipts = answer.json()["receipts"]
    assert [one["status"] for one in receipts] == [202, 403, 403, 403]
    record = record_of(edge, "raw.standard", receipts[0]["id"])
    message = message_from(record.headers, record.value)
    assert (message.device_id, message.via) == (behind, device.device_id)


def test_a_device_bound_just_now_is_seen(edge: Platform, device: Device) -> None:
    other = Device.registered(edge)
    refused = post_batch(device, entry(device=other.device_id)).json()["receipts"][0]
    found = edge.registry.find(other.device_id)
    assert found is not None
    edge.registry.register(replace(found, gateway_id=device.device_id))

    heard = post_batch(device, entry(device=other.device_id)).json()["receipts"][0]

    assert (refused["status"], heard["status"]) == (403, 202)


def test_five_hundred_entries_are_as_many_messages(device: Device) -> None:
    entries = [entry(f"e-{n}", device=device.device_id, data={"n": n}) for n in range(500)]

    answer = post_batch(device, *entries)

    ids = {one["id"] for one in answer.json()["receipts"]}
    assert (answer.status_code, len(ids)) == (202, 500)


def test_large_entries_go_by_reference(edge: Platform, device: Device) -> None:
    text = {"datacontenttype": "text/plain", "data": "x" * (INLINE_BYTES_MAX + 1)}

    answer = post_batch(
        device,
        entry("e-1", device=device.device_id, **text),
        entry("e-2", device=device.device_id, data=1),
        entry("e-3", device=device.device_id, **text),
    )

    assert [one["landed"] for one in answer.json()["receipts"]] == ["object", "kafka", "object"]


def test_an_idempotency_key_is_answered_with_its_first_receipt(device: Device) -> None:
    """Stream ``weather`` is a flow that asks for it."""
    key = secrets.token_hex(8)
    first = device.post("weather", b"a", Idempotency_Key=key).json()

    again = device.post("weather", b"a", Idempotency_Key=key).json()
    other = device.post("weather", b"b", Idempotency_Key=key).json()

    assert again == first | {
        "notices": ["repeated"],
        "next_upload_after_s": again["next_upload_after_s"],
    }
    assert (other["notices"], other["id"] == first["id"]) == (["key_reused"], False)


def test_health_tells_what_requests_saw(edge: Platform, device: Device) -> None:
    device.post("diagnostics", b"x" * (INLINE_BYTES_MAX + 1))

    answer = httpx.get(f"{edge.endpoints.api}/v1/health", timeout=30, trust_env=False)

    assert answer.json() == {"status": "ok", "sinks": {"kafka": "ok", "object_store": "ok"}}
