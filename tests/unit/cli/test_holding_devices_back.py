"""``fleetlane device`` quarantines, revokes, releases, and limits rates."""

from pathlib import Path

import pytest

from clients.devices.registry import DeviceStatus
from fleetlane.events.overrides import RateLimits
from operations.devices.stores import DeviceStores
from tests.unit.cli.conftest import Device, added, now_ms, status_of


@pytest.mark.parametrize(("verb", "status"), [("quarantine", "quarantined"), ("revoke", "revoked")])
def test_holding_devices_back_changes_the_registry_and_the_overrides(
    device: Device, stores: DeviceStores, key_file: Path, verb: str, status: str
) -> None:
    added(device, "d-1", key_file)
    added(device, "d-2", key_file)

    result = device(verb, "d-1", "d-2")

    overrides = stores.overrides.read()
    assert result.stdout == f"{status}: d-1, d-2\n"
    assert status_of(stores) == DeviceStatus(status)
    assert {overrides.restriction(one, now_ms=now_ms()) for one in ("d-1", "d-2")} == {status}


def test_an_override_ends_when_every_kept_answer_has(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    device("revoke", "d-1")

    overrides = stores.overrides.read()

    assert overrides.restriction("d-1", now_ms=now_ms() + 300_000) == "revoked"
    assert overrides.restriction("d-1", now_ms=now_ms() + 25 * 3_600_000) is None


def test_if_one_of_several_devices_is_unknown_none_is_changed(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)

    result = device("revoke", "d-1", "d-2")

    assert (result.exit_code, status_of(stores)) == (1, DeviceStatus.ACTIVE)
    assert stores.overrides.read().devices == {}


def test_a_released_device_may_send_again(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    device("revoke", "d-1")

    device("release", "d-1")

    assert (status_of(stores), stores.overrides.read().devices) == (DeviceStatus.ACTIVE, {})


def test_a_revoked_device_is_not_quarantined(
    device: Device, stores: DeviceStores, key_file: Path
) -> None:
    added(device, "d-1", key_file)
    added(device, "d-2", key_file)
    device("revoke", "d-1")

    result = device("quarantine", "d-2", "d-1")

    overrides = stores.overrides.read()
    assert (result.exit_code, result.stderr[:26]) == (1, "error: device d-1 is revok")
    assert status_of(stores) == DeviceStatus.REVOKED
    assert overrides.restriction("d-1", now_ms=now_ms()) == "revoked"
    assert overrides.restriction("d-2", now_ms=now_ms()) is None


def test_rate_limits_are_set_for_one_device_and_for_all(
    device: Device, stores: DeviceStores
) -> None:
    device("rate-limit", "d-1", "--soft", "10", "--hard", "20")
    device("rate-limit", "--soft", "100", "--hard", "200")

    overrides = stores.overrides.read()

    own, others = (overrides.rate_limits_of(one, of_stage=None) for one in ("d-1", "d-2"))
    assert own == RateLimits(soft_per_minute=10, hard_per_minute=20)
    assert others == RateLimits(soft_per_minute=100, hard_per_minute=200)


def test_rate_limits_may_name_bytes_too(device: Device, stores: DeviceStores) -> None:
    of_bytes = ("--soft-bytes", "1000", "--hard-bytes", "2000")

    device("rate-limit", "d-1", "--soft", "10", "--hard", "20", *of_bytes)

    own = stores.overrides.read().rate_limits_of("d-1", of_stage=None)
    assert own is not None
    assert (own.soft_bytes_per_minute, own.hard_bytes_per_minute) == (1_000, 2_000)


def test_rate_limits_are_taken_away(device: Device, stores: DeviceStores) -> None:
    device("rate-limit", "d-1", "--soft", "10", "--hard", "20")

    device("rate-limit", "d-1", "--clear")

    assert stores.overrides.read().rate_limits_of("d-1", of_stage=None) is None


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--soft", "1"),
        ("--hard", "1"),
        ("--soft", "2", "--hard", "1"),
        ("--clear", "--soft", "1"),
        ("--soft", "1", "--hard", "1", "--soft-bytes", "2", "--hard-bytes", "1"),
    ],
)
def test_rate_limits_that_cannot_be_are_refused(device: Device, options: tuple[str, ...]) -> None:
    result = device("rate-limit", "d-1", *options)

    assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True)


@pytest.mark.parametrize("options", [("--soft", "1000001"), ("--soft-bytes", str((1 << 40) + 1))])
def test_rate_limits_that_no_function_could_read_are_refused(
    device: Device, stores: DeviceStores, options: tuple[str, ...]
) -> None:
    hard = ("--hard", "2000000", "--hard-bytes", str(1 << 50))

    result = device("rate-limit", "d-1", "--soft", "1", *options, *hard)

    assert result.exit_code != 0
    assert stores.overrides.read().device_rate_limits == {}
