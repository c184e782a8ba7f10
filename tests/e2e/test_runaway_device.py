"""A device that sends a thousand times too much: what the watch makes of it."""

import time
from collections.abc import Callable

import pytest

from local.simulator.runaway_device import run_runaway_device
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

PATIENCE_S = 180.0
"""Ten seconds on this platform, and what a busy machine adds."""


def test_a_device_that_was_seen_is_noted_in_the_registry_with_its_firmware(
    running: RunningPlatform,
) -> None:
    stores = running.seen_by_operators.devices
    device = Device.registered(running.platform)

    device.accepted("diagnostics", b'{"entries": []}', X_Firmware_Version="2.1.0")

    sighting = _until(lambda: stores.sightings.find(device.device_id))
    assert sighting.firmware == "2.1.0"


def test_a_runaway_device_is_quarantined_until_it_is_calm_and_nothing_of_it_is_lost(
    running: RunningPlatform,
) -> None:
    platform = running.platform

    runaway = run_runaway_device(
        platform.endpoints.api, platform.registry, seed=99, patience_s=PATIENCE_S
    )
    ledger = running.ledger_on(runaway.receipts())

    assert runaway.quarantined_after_s is not None, runaway.line()
    assert runaway.released_after_s is not None, runaway.line()
    assert (ledger.accepted, ledger.parsed, ledger.lost) == (len(runaway.sent),) * 2 + (0,)


def _until[T](look: Callable[[], T | None]) -> T:
    give_up_s = time.monotonic() + PATIENCE_S
    while (found := look()) is None:
        assert time.monotonic() < give_up_s
        time.sleep(0.2)
    return found
