"""When devices were last seen: the fake and moto's DynamoDB keep the same promises."""

from collections.abc import Iterator
from typing import Final, Protocol

import pytest

from clients.devices.registry import DeviceRegistry, RegisteredDevice, RegistryUnavailableError
from clients.devices.sightings import DeviceSightings, Sighting
from fleetlane.events.times import DAY_MS
from tests.contract.aws_in_process import device_table
from tests.unit.glue_jobs.fake_sightings import FakeSightings

NOON_MS: Final = 20_000 * DAY_MS + DAY_MS // 2
KEY: Final = {"kid": "2026", "kty": "OKP", "crv": "Ed25519", "x": "eA"}
DEVICE: Final = RegisteredDevice(
    device_id="d-1", device_type="tracker", keys=(KEY,), registered_ms=1
)


class Sightings(Protocol):
    def note(self, sighting: Sighting) -> bool: ...

    def find(self, device_id: str) -> Sighting | None: ...


@pytest.fixture(params=["fake", "moto"])
def sightings(request: pytest.FixtureRequest) -> Iterator[Sightings]:
    if request.param == "fake":
        yield FakeSightings(frozenset({DEVICE.device_id}))
        return
    with device_table() as table:
        DeviceRegistry(table).register(DEVICE)
        yield DeviceSightings(table)


def seen(*, at_ms: int = NOON_MS, firmware: str | None = "2.1") -> Sighting:
    return Sighting(device_id=DEVICE.device_id, seen_ms=at_ms, firmware=firmware)


def test_a_device_that_was_never_seen_has_no_sighting(sightings: Sightings) -> None:
    assert sightings.find(DEVICE.device_id) is None


def test_a_sighting_is_found_as_it_was_noted(sightings: Sightings) -> None:
    is_noted = sightings.note(seen())

    assert is_noted
    assert sightings.find(DEVICE.device_id) == seen()


@pytest.mark.parametrize("later_ms", [-DAY_MS, -1, 0, 1], ids=["day before", "-1", "0", "+1"])
def test_another_of_that_day_or_an_older_one_changes_nothing(
    sightings: Sightings, later_ms: int
) -> None:
    sightings.note(seen())

    is_noted = sightings.note(seen(at_ms=NOON_MS + later_ms, firmware="9"))

    assert not is_noted
    assert sightings.find(DEVICE.device_id) == seen()


def test_one_of_the_next_day_takes_its_place(sightings: Sightings) -> None:
    sightings.note(seen())

    sightings.note(seen(at_ms=NOON_MS + DAY_MS // 2, firmware="2.2"))

    assert sightings.find(DEVICE.device_id) == seen(at_ms=NOON_MS + DAY_MS // 2, firmware="2.2")


def test_who_declares_no_firmware_keeps_the_last_one(sightings: Sightings) -> None:
    sightings.note(seen())

    sightings.note(seen(at_ms=NOON_MS + DAY_MS, firmware=None))

    assert sightings.find(DEVICE.device_id) == seen(at_ms=NOON_MS + DAY_MS)


def test_a_device_that_is_not_registered_is_not_noted(sightings: Sightings) -> None:
    is_noted = sightings.note(Sighting(device_id="stranger", seen_ms=NOON_MS))

    assert not is_noted
    assert sightings.find("stranger") is None


def test_a_sighting_leaves_the_rest_of_a_device_alone() -> None:
    with device_table() as table:
        registry = DeviceRegistry(table)
        registry.register(DEVICE)

        DeviceSightings(table).note(seen())

        assert registry.find(DEVICE.device_id) == DEVICE


def test_a_missing_table_is_an_outage() -> None:
    with device_table() as table:
        table.delete()

        with pytest.raises(RegistryUnavailableError):
            DeviceSightings(table).note(seen())
