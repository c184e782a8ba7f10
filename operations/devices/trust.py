"""Quarantine, revoke, release: in the registry for good, in the overrides at once."""

from collections.abc import Sequence
from typing import Final

from clients.devices.overrides import OverridesStore
from clients.devices.registry import DeviceRegistry, DeviceStatus, UnknownDeviceError
from fleetlane.events.overrides import DeviceOverride, Restriction
from fleetlane.events.times import DAY_MS

OVERRIDE_LASTS_MS: Final = DAY_MS
"""Longer than any authorizer result is cached: by then the registry is in effect everywhere."""


class DeviceTrust:
    """Changes how far devices are trusted. A call that was interrupted can be repeated."""

    def __init__(self, registry: DeviceRegistry, overrides: OverridesStore) -> None:
        self._registry, self._overrides = registry, overrides

    def restrict(self, device_ids: Sequence[str], restriction: Restriction, *, now_ms: int) -> None:
        """Restrict devices permanently, from when functions next read the overrides.

        Raises:
            UnknownDeviceError: One of them is not registered; nothing was changed.
            RegistryUnavailableError: DynamoDB does not answer; some may have been changed.
            OverridesUnavailableError: The registry was changed, the overrides were not: it takes
                effect once cached authorizer results have expired.
            BadOverridesError: Likewise: the overrides have no room for so many.
        """
        self._set_status(device_ids, DeviceStatus(restriction.value))
        override = DeviceOverride(status=restriction, until_ms=now_ms + OVERRIDE_LASTS_MS)
        self._overrides.change(
            lambda present: present.restricted(device_ids, override), now_ms=now_ms
        )

    def release(self, device_ids: Sequence[str], *, now_ms: int) -> None:
        """Lift the restriction, in effect once cached authorizer results have expired.

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
