"""Quarantine, revoke, release: in the registry, which lasts, and in the overrides, which bite."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from clients.devices.registry import DeviceStatus, RegisteredDevice, UnknownDeviceError
from fleetlane.events.overrides import DeviceOverride, Overrides, Restriction

OVERRIDE_LASTS_MS: Final = 24 * 60 * 60 * 1000
"""Longer than any answer is kept for a token: by then the registry's word is known everywhere."""


class StatusRegistry(Protocol):
    """Where the status of devices is kept."""

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]: ...

    def set_status(self, device_id: str, status: DeviceStatus) -> None: ...


class ChangeableOverrides(Protocol):
    """Where overrides are changed, by one at a time."""

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides: ...


class DeviceTrust:
    """Changes how far devices are trusted. Whatever was cut short, the same call again mends."""

    def __init__(self, registry: StatusRegistry, overrides: ChangeableOverrides) -> None:
        self._registry, self._overrides = registry, overrides

    def restrict(self, device_ids: Sequence[str], restriction: Restriction, *, now_ms: int) -> None:
        """Hold devices back, for good, from the next time that functions read the overrides on.

        Raises:
            UnknownDeviceError: One of them is not registered; nothing was changed.
            RegistryUnavailableError: DynamoDB does not answer; some may have been changed.
            OverridesUnavailableError: The registry was changed, the overrides were not: it holds
                once the answers that are kept for tokens have ended.
            BadOverridesError: Likewise, there being no room for so many.
        """
        self._set_status(device_ids, DeviceStatus(restriction.value))
        override = DeviceOverride(status=restriction, until_ms=now_ms + OVERRIDE_LASTS_MS)
        self._overrides.change(
            lambda present: present.restricted(device_ids, override), now_ms=now_ms
        )

    def release(self, device_ids: Sequence[str], *, now_ms: int) -> None:
        """Hold devices back no longer, once the answers kept for their tokens have ended.

        Raises:
            FleetlaneError: As ``restrict`` does.
        """
        self._set_status(device_ids, DeviceStatus.ACTIVE)
        self._overrides.change(lambda present: present.released(device_ids), now_ms=now_ms)

    def _set_status(self, device_ids: Sequence[str], status: DeviceStatus) -> None:
        known = self._registry.find_all(device_ids)
        for device_id in device_ids:
            if device_id not in known:
                raise UnknownDeviceError(device_id)
        for device_id in device_ids:
            self._registry.set_status(device_id, status)
