"""Bonds between devices and gateways: asked for once a minute, refused only after asking."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.registry import RegisteredDevice, RegistryUnavailableError

DEVICE = RegisteredDevice(
    device_id="d-1", device_type="meter", keys=(), gateway_id="gw-1", registered_ms=0
)


class CountingRegistry:
    """A registry in memory that keeps what it was asked for."""

    def __init__(self, *devices: RegisteredDevice) -> None:
        self.devices = {device.device_id: device for device in devices}
        self.asked: list[set[str]] = []
        self.is_up = True

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]:
        self.asked.append(set(device_ids))
        if not self.is_up:
            raise RegistryUnavailableError("no answer")
        return {one: self.devices[one] for one in self.asked[-1] if one in self.devices}


class World:
    def __init__(self, *devices: RegisteredDevice, kept_max: int = 10) -> None:
        self.registry = CountingRegistry(*devices)
        self.now_s = 0.0
        self.cached = CachedBoundDevices(
            self.registry.find_all, kept_max=kept_max, monotonic=lambda: self.now_s
        )

    def bound_to(self, gateway_id: str, *device_ids: str) -> set[str]:
        return set(self.cached.bound_to(gateway_id, frozenset(device_ids)))


def test_only_those_bound_to_the_gateway_are_found() -> None:
    world = World(DEVICE, replace(DEVICE, device_id="d-2", gateway_id="gw-2"))

    assert world.bound_to("gw-1", "d-1", "d-2", "nobody") == {"d-1"}


def test_a_bond_is_asked_for_once() -> None:
    world = World(DEVICE)

    found = [world.bound_to("gw-1", "d-1"), world.bound_to("gw-1", "d-1")]

    assert (found, world.registry.asked) == ([{"d-1"}, {"d-1"}], [{"d-1"}])


def test_a_bond_is_asked_for_again_after_a_minute() -> None:
    world = World(DEVICE)
    world.bound_to("gw-1", "d-1")
    world.registry.devices = {}

    world.now_s = 60.0

    assert world.bound_to("gw-1", "d-1") == set()


def test_a_device_that_is_bound_later_is_seen_at_once() -> None:
    world = World()
    world.bound_to("gw-1", "d-1")

    world.registry.devices = {"d-1": DEVICE}

    assert world.bound_to("gw-1", "d-1") == {"d-1"}


def test_a_device_that_moved_to_another_gateway_is_seen_there_at_once() -> None:
    world = World(DEVICE)
    world.bound_to("gw-1", "d-1")

    world.registry.devices = {"d-1": replace(DEVICE, gateway_id="gw-2")}

    assert world.bound_to("gw-2", "d-1") == {"d-1"}


def test_only_what_is_not_remembered_is_asked_for() -> None:
    world = World(DEVICE, replace(DEVICE, device_id="d-2"))
    world.bound_to("gw-1", "d-1")

    world.bound_to("gw-1", "d-1", "d-2")

    assert world.registry.asked == [{"d-1"}, {"d-2"}]


def test_what_is_remembered_needs_no_registry() -> None:
    world = World(DEVICE)
    world.bound_to("gw-1", "d-1")
    world.registry.is_up = False

    assert world.bound_to("gw-1", "d-1") == {"d-1"}


def test_a_registry_that_does_not_answer_is_an_outage() -> None:
    world = World()
    world.registry.is_up = False

    with pytest.raises(RegistryUnavailableError):
        world.bound_to("gw-1", "d-1")


def test_the_oldest_bonds_are_forgotten() -> None:
    world = World(*(replace(DEVICE, device_id=f"d-{n}") for n in range(3)), kept_max=2)
    for number in range(3):
        world.bound_to("gw-1", f"d-{number}")

    world.bound_to("gw-1", "d-0", "d-1", "d-2")

    assert world.registry.asked[-1] == {"d-0"}
