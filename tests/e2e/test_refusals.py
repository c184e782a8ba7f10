"""What must not be taken is refused and leaves no trace; what is taken comes to its one end."""

import gzip
from collections.abc import Callable
from typing import Final

import orjson
import pytest

from clients.device_api import DeviceKey
from clients.devices.registry import DeviceStatus
from clients.s3.payload_bucket import payload_key
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import INLINE_BYTES_MAX
from fleetlane.events.topics import PARKED
from local.platform import Platform
from local.spark.jobs import Application
from operations.endpoints import PARKED_BUCKET, PAYLOAD_BUCKET
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device, post, problem_in
from tests.e2e.faults import frozen
from tests.e2e.stored import Landings, header, object_bytes, record_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

PROBLEM: Final = "application/problem+json"
LARGE: Final = orjson.dumps({"entries": [], "filling": "x" * INLINE_BYTES_MAX})
"""Would leave a trace in S3 and in Kafka."""


def no_token(_: Platform) -> str | None:
    return None


def no_jwt(_: Platform) -> str:
    return "open sesame"


def signed_with_another_key(platform: Platform) -> str:
    """By the name of the device's key: only the signature betrays it."""
    device = Device.registered(platform)
    forged = DeviceKey(kid=device.key.kid, private=DeviceKey.generate().private)
    return Device(device_id=device.device_id, key=forged, api=device.api).token()


def signed_with_a_key_that_nobody_registered(platform: Platform) -> str:
    device = Device.registered(platform)
    return Device(device_id=device.device_id, key=DeviceKey.generate(), api=device.api).token()


def expired(platform: Platform) -> str:
    return Device.registered(platform).token(age_s=2 * 3_600)


def of_an_unknown_device(platform: Platform) -> str:
    return Device.unknown(platform).token()


def of_one_device_in_the_name_of_another(platform: Platform) -> str:
    one, other = Device.registered(platform), Device.registered(platform)
    return Device(device_id=other.device_id, key=one.key, api=one.api).token()


@pytest.mark.parametrize(
    "token_of",
    [
        no_token,
        no_jwt,
        signed_with_another_key,
        signed_with_a_key_that_nobody_registered,
        expired,
        of_an_unknown_device,
        of_one_device_in_the_name_of_another,
    ],
)
def test_who_does_not_prove_who_it_is_is_refused_and_nothing_is_stored(
    running: RunningPlatform, token_of: Callable[[Platform], str | None]
) -> None:
    platform = running.platform
    token, landings = token_of(platform), Landings(platform)

    answer = post(platform.endpoints.api, "diagnostics", LARGE, token=token)

    refusal = (401, PROBLEM, "urn:fleetlane:problem:unauthenticated")
    assert (problem_in(answer), landings.new()) == (refusal, [])


def test_a_revoked_device_is_refused_and_nothing_is_stored(running: RunningPlatform) -> None:
    device = Device.registered(running.platform, DeviceStatus.REVOKED)
    landings = Landings(running.platform)

    answer = device.post("diagnostics", LARGE)

    refusal = (403, PROBLEM, "urn:fleetlane:problem:forbidden")
    assert (problem_in(answer), landings.new()) == (refusal, [])


def test_a_device_is_who_its_token_says_whatever_its_headers_say(running: RunningPlatform) -> None:
    device, other = Device.registered(running.platform), Device.registered(running.platform)

    receipt = device.accepted(
        "gps",
        orjson.dumps({"device_id": other.device_id}),
        ce_source=f"/devices/{other.device_id}",
        X_Device_Id=other.device_id,
    )

    record = record_of(running.platform, "raw.standard", receipt.raw_id)
    assert message_from(record.headers, record.value).device_id == device.device_id


@pytest.mark.parametrize("stream", ["Thermo", "thermo_1", "1-thermo", "x" * 49, "thermo/1", "%20"])
def test_a_stream_that_cannot_be_is_not_found_and_nothing_is_stored(
    running: RunningPlatform, stream: str
) -> None:
    device, landings = Device.registered(running.platform), Landings(running.platform)

    answer = device.post(stream, LARGE)

    refusal = (404, PROBLEM, "urn:fleetlane:problem:no_route")
    assert (problem_in(answer), landings.new()) == (refusal, [])


def test_a_body_that_the_gateway_would_unpack_is_refused_and_nothing_is_stored(
    running: RunningPlatform,
) -> None:
    device, landings = Device.registered(running.platform), Landings(running.platform)

    answer = device.post("diagnostics", gzip.compress(LARGE), Content_Encoding="gzip")

    refusal = (400, PROBLEM, "urn:fleetlane:problem:bad_request")
    assert (problem_in(answer), landings.new()) == (refusal, [])


def test_what_is_accepted_is_stored_when_its_answer_comes(running: RunningPlatform) -> None:
    device, landings = Device.registered(running.platform), Landings(running.platform)

    receipt = device.accepted("diagnostics", LARGE)

    assert landings.new() == [receipt.raw_id, payload_key(receipt.raw_id)]


def test_empty_bodies_are_messages_and_end_as_their_parsers_say(running: RunningPlatform) -> None:
    """No readings are an empty message; no JSON at all is a malformed one."""
    device = Device.registered(running.platform)

    ledger = running.ledger_on([device.accepted("thermo", b""), device.accepted("gps", b"")])

    assert (ledger.accepted, ledger.empty, ledger.parked, ledger.lost) == (2, 1, 1, 0)


def test_a_stream_that_nobody_has_a_flow_for_is_parked_as_it_came(running: RunningPlatform) -> None:
    body = bytes(range(256))

    receipt = Device.registered(running.platform).accepted("prototype-y", body)

    parked = record_of(running.platform, PARKED, receipt.raw_id)
    assert (header(parked, "ce_parkedreason"), parked.value) == (b"no_flow", body)


def test_what_is_parked_by_reference_is_kept_as_it_came(running: RunningPlatform) -> None:
    body = bytes(range(256)) * 2_000

    receipt = Device.registered(running.platform).accepted("prototype-y", body)

    parked = record_of(running.platform, PARKED, receipt.raw_id)
    key = (header(parked, "ce_dataref") or b"").decode()
    assert object_bytes(running.platform.s3, PARKED_BUCKET, key) == body


def test_a_message_whose_payload_is_gone_is_parked(running: RunningPlatform) -> None:
    platform = running.platform
    device = Device.registered(platform)

    with frozen(platform.jobs[Application.LANES]):
        receipt = device.accepted("diagnostics", LARGE)
        platform.s3.delete_object(Bucket=PAYLOAD_BUCKET, Key=payload_key(receipt.raw_id))

    parked = record_of(platform, PARKED, receipt.raw_id)
    assert header(parked, "ce_parkedreason") == b"payload_missing"


@pytest.mark.parametrize(
    "altered", [LARGE[:-1], LARGE[:-1] + b" "], ids=["in its size", "in a byte"]
)
def test_a_message_whose_payload_was_altered_is_parked_with_what_is_there(
    running: RunningPlatform, altered: bytes
) -> None:
    platform = running.platform
    device = Device.registered(platform)

    with frozen(platform.jobs[Application.LANES]):
        receipt = device.accepted("diagnostics", LARGE)
        key = payload_key(receipt.raw_id)
        platform.s3.put_object(Bucket=PAYLOAD_BUCKET, Key=key, Body=altered)

    parked = record_of(platform, PARKED, receipt.raw_id)
    kept = (header(parked, "ce_dataref") or b"").decode()
    assert (header(parked, "ce_parkedreason"), object_bytes(platform.s3, PARKED_BUCKET, kept)) == (
        b"payload_corrupt",
        altered,
    )
