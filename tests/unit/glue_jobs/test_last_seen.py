"""Devices that were seen are noted once a day, and not too many at a time."""

from typing import Final

from clients.devices.sightings import Sighting
from fleetlane.events.times import DAY_MS
from glue_jobs.fleet_watch.batches import LastSeen
from tests.unit.glue_jobs.fake_sightings import FakeSightings

NOON_MS: Final = 20_000 * DAY_MS + DAY_MS // 2


def seen(device: str = "d-1", *, at_ms: int = NOON_MS) -> Sighting:
    return Sighting(device_id=device, seen_ms=at_ms, firmware="2.1")


def test_a_device_is_written_once_a_day_however_often_it_is_seen() -> None:
    registry = FakeSightings()
    last_seen = LastSeen(registry.note, at_once_max=10)

    for minute in range(3):
        last_seen.add([seen(at_ms=NOON_MS + minute)])
        last_seen.write_some()

    assert registry.writes == 1
    assert registry.find("d-1") == seen()


def test_the_next_day_it_is_written_again_and_what_is_late_is_not() -> None:
    registry = FakeSightings()
    last_seen = LastSeen(registry.note, at_once_max=10)

    for days in (0, 1, 0):
        last_seen.add([seen(at_ms=NOON_MS + days * DAY_MS)])
        last_seen.write_some()

    assert registry.writes == 2
    assert registry.find("d-1") == seen(at_ms=NOON_MS + DAY_MS)


def test_a_herd_is_written_in_turns() -> None:
    registry = FakeSightings()
    last_seen = LastSeen(registry.note, at_once_max=2)

    last_seen.add([seen(f"d-{number}") for number in range(5)])
    last_seen.write_some()

    assert registry.writes == 2
    for _ in range(3):
        last_seen.write_some()
    assert registry.writes == 5


def test_while_the_registry_is_unavailable_sightings_wait() -> None:
    registry = FakeSightings()
    last_seen = LastSeen(registry.note, at_once_max=2)
    registry.is_away = True
    last_seen.add([seen()])
    last_seen.write_some()

    registry.is_away = False
    last_seen.write_some()

    assert registry.find("d-1") == seen()


def test_beyond_what_is_remembered_the_registry_itself_turns_a_repeat_down() -> None:
    registry = FakeSightings()
    last_seen = LastSeen(registry.note, at_once_max=10, devices_max=1)

    for device in ("d-1", "d-2", "d-1"):
        last_seen.add([seen(device)])
        last_seen.write_some()

    assert registry.writes == 3
    assert registry.find("d-1") == seen("d-1")
