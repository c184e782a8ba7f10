"""While Kafka does not answer, devices are told so in time, and lose nothing by it."""

import time
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from fleetlane.events.lanes import INLINE_BYTES_MAX
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import ACCEPTED, Device, problem_in, receipt_from
from tests.e2e.faults import frozen

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

ANSWERED_WITHIN_S_MAX: Final = 5.0
ACCEPTED_AGAIN_WITHIN_S_MAX: Final = 60.0

BODIES: Final = {
    "in Kafka alone": b"\x00hello",
    "in S3 first": b"\x00" * (INLINE_BYTES_MAX + 1),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_device_is_told_in_time_to_try_later(running: RunningPlatform, body: bytes) -> None:
    device = Device.registered(running.platform)

    with frozen(running.platform.broker):
        answer = device.post("prototype-z", body)

    assert (
        problem_in(answer),
        answer.elapsed.total_seconds() < ANSWERED_WITHIN_S_MAX,
        5 <= int(answer.headers["Retry-After"]) <= 15,
    ) == ((503, "application/problem+json", "urn:fleetlane:problem:try_later"), True, True)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_same_bytes_are_accepted_once_kafka_is_back_and_come_to_one_end(
    running: RunningPlatform, body: bytes
) -> None:
    """The first try may have landed after all: the key makes it the same message."""
    device = Device.registered(running.platform)
    with frozen(running.platform.broker):
        refused = device.post("prototype-z", body, Idempotency_Key="one")

    accepted = next(a for a in resent(device, body) if a.status_code == ACCEPTED)

    ledger = running.ledger_on([receipt_from(accepted, body)])
    assert (refused.status_code, ledger.parked, ledger.lost) == (503, 1, 0)


def resent(device: Device, body: bytes) -> Iterator[httpx.Response]:
    """Send again and again; every answer takes its time."""
    give_up_s = time.monotonic() + ACCEPTED_AGAIN_WITHIN_S_MAX
    while time.monotonic() < give_up_s:
        yield device.post("prototype-z", body, Idempotency_Key="one")
