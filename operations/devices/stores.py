"""Where devices are kept, and what operators do there, functions do not: list, change, restrict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from clients.aws import asking
from clients.devices import registry as devices
from clients.devices.overrides import OverridesStore
from clients.devices.sightings import DeviceSightings
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_device_id, the_id
from fleetlane.events.overrides import DeviceOverride, Restriction
from fleetlane.events.times import DAY_MS

_TRIES_MAX: Final = 5


class KeyChangeError(FleetlaneError):
    """A device's keys cannot be changed like that. Nothing was changed."""

    device_id: str
    problem: str
    sentence = "device {device_id} {problem}"


class StaysRevokedError(FleetlaneError):
    """Quarantine would let a revoked device send again. Nothing was changed."""

    device_id: str
    sentence = "device {device_id} is revoked, and stays so; `fleetlane device release` lifts that"


class DeviceAdministration(devices.DeviceRegistry):
    """The registry with what operators alone do there."""

    def all(
        self, *, status: devices.DeviceStatus | None = None, device_type: str | None = None
    ) -> Iterator[devices.RegisteredDevice]:
        """Give all devices, in no order, out of the whole table; raises ``BadDeviceError``."""
        given = {"status": None if status is None else status.value, "device_type": device_type}
        wanted = {name: value for name, value in given.items() if value is not None}
        request = {
            "FilterExpression": " AND ".join(f"#{name} = :{name}" for name in wanted),
            "ExpressionAttributeNames": {f"#{name}": name for name in wanted},
            "ExpressionAttributeValues": {f":{name}": value for name, value in wanted.items()},
        }
        yield from map(devices.device_from_item, self._scanned(**request if wanted else {}))

    def all_without_keys(self) -> Iterator[devices.RegisteredDevice]:
        """Give all devices as ``all``, but for keys and attributes, most of what an item holds."""
        names = (one.name for one in fields(devices.RegisteredDevice))
        asked = [name for name in names if name not in {"keys", "attributes"}]
        items = self._scanned(
            ProjectionExpression=", ".join(f"#{name}" for name in asked),
            ExpressionAttributeNames={f"#{name}": name for name in asked},
        )
        yield from (devices.device_from_item({**item, "keys": ()}) for item in items)

    def ids(self, beginning: str) -> Iterator[str]:
        """Give all ids that begin so, in no order; reads the whole table."""
        items = self._scanned(
            FilterExpression="begins_with(device_id, :beginning)",
            ExpressionAttributeValues={":beginning": beginning},
            ProjectionExpression="device_id",
        )
        yield from (item["device_id"] for item in items)

    def _scanned(self, **request: Any) -> Iterator[Any]:
        pages = self._table.meta.client.get_paginator("scan")
        with asking(devices.RegistryUnavailableError):
            for page in pages.paginate(TableName=self._table.name, **request):
                yield from page["Items"]

    def is_there(self, device_id: str) -> bool:
        """Whether the registry has an item with this id, a valid device or not."""
        try:
            return self.find(device_id) is not None
        except devices.BadDeviceError:
            return True

    def remove(self, device_id: str) -> None:
        """Remove a device; a missing one is no error."""
        with asking(devices.RegistryUnavailableError):
            self._table.delete_item(Key={"device_id": device_id})

    def add_key(self, device_id: str, key: devices.Jwk) -> devices.RegisteredDevice:
        """Let a device sign with one more key; adding one it has changes nothing.

        Raises:
            UnknownDeviceError: There is no such device.
            KeyChangeError: It has the most keys allowed, or another of this name.
            BadDeviceError: The key is not allowed.
        """
        return self._changed(device_id, lambda device: _with_key(device, key))

    def remove_key(self, device_id: str, kid: str) -> devices.RegisteredDevice:
        """Remove one of a device's keys; raises ``KeyChangeError`` where it has no other."""
        return self._changed(device_id, lambda device: _without_key(device, kid))

    def _changed(
        self, device_id: str, change: Callable[[devices.RegisteredDevice], devices.RegisteredDevice]
    ) -> devices.RegisteredDevice:
        """Replace the keys that were read; where others changed them meanwhile, try again."""
        for _ in range(_TRIES_MAX):
            present = self.find(device_id)
            if present is None:
                raise devices.UnknownDeviceError(device_id)
            wanted = change(present)
            if devices.is_updated(
                self._table,
                device_id,
                UpdateExpression="SET #keys = :wanted",
                ConditionExpression="#keys = :present",
                ExpressionAttributeNames={"#keys": "keys"},
                ExpressionAttributeValues={
                    ":wanted": [dict(key) for key in wanted.keys],
                    ":present": [dict(key) for key in present.keys],
                },
            ):
                return wanted
        raise KeyChangeError(device_id, f"was changed by others, {_TRIES_MAX} times")


def _with_key(device: devices.RegisteredDevice, key: devices.Jwk) -> devices.RegisteredDevice:
    kid = str(key.get("kid"))
    there = device.key(kid)
    if there == key:
        return device
    if there is not None:
        raise KeyChangeError(device.device_id, f"has another key named {kid!r}")
    if len(device.keys) >= devices.KEYS_MAX:
        names = ", ".join(held["kid"] for held in device.keys)
        problem = f"has {len(device.keys)} keys, the most allowed: {names}"
        raise KeyChangeError(device.device_id, problem)
    return replace(device, keys=(*device.keys, key))


def _without_key(device: devices.RegisteredDevice, kid: str) -> devices.RegisteredDevice:
    if device.key(kid) is None:
        raise KeyChangeError(device.device_id, f"has no key named {kid[:80]!r}")
    if len(device.keys) == 1:
        raise KeyChangeError(device.device_id, "has no other key: revoke it, or add a key first")
    return replace(device, keys=tuple(key for key in device.keys if key["kid"] != kid))


OVERRIDE_LASTS_MS: Final = DAY_MS
"""Longer than any authorizer result is cached: by then the registry is in effect everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStores:
    """The registry of a platform, its sightings and its overrides.

    A restriction or release that was interrupted can be repeated.
    """

    registry: DeviceAdministration
    sightings: DeviceSightings
    overrides: OverridesStore

    def named(self, given: str) -> str:
        """The id of the registered device that is given, or that alone begins so; else ``given``.

        Raises ``BadNameError`` where it can be no id, ``AmbiguousIdError`` where several begin so.
        """
        if self.registry.find(checked_device_id(given)) is not None:
            return given
        return the_id(given, self.registry.ids(given)) or given

    def restrict(self, device_ids: Sequence[str], restriction: Restriction, *, now_ms: int) -> None:
        """Restrict devices permanently, from when functions next read the overrides.

        Raises:
            UnknownDeviceError: One of them is not registered; nothing was changed.
            StaysRevokedError: One that is to be quarantined is revoked; nothing was changed.
            RegistryUnavailableError: DynamoDB does not answer; some may have been changed.
            OverridesUnavailableError: The registry was changed, the overrides were not: it takes
                effect once cached authorizer results have expired.
            BadOverridesError: Likewise: the overrides have no room for so many.
        """
        self._set_status(device_ids, devices.DeviceStatus(restriction.value))
        override = DeviceOverride(status=restriction, until_ms=now_ms + OVERRIDE_LASTS_MS)
        self.overrides.change(lambda now: now.restricted(device_ids, override), now_ms=now_ms)

    def release(self, device_ids: Sequence[str], *, now_ms: int) -> None:
        """Lift it, once cached authorizer results have expired; raises as ``restrict``."""
        self._set_status(device_ids, devices.DeviceStatus.ACTIVE)
        self.overrides.change(lambda present: present.released(device_ids), now_ms=now_ms)

    def _set_status(self, device_ids: Sequence[str], status: devices.DeviceStatus) -> None:
        known = self.registry.find_all(device_ids)
        for device_id in device_ids:
            if device_id not in known:
                raise devices.UnknownDeviceError(device_id)
            was = known[device_id].status
            if (was, status) == (devices.DeviceStatus.REVOKED, devices.DeviceStatus.QUARANTINED):
                raise StaysRevokedError(device_id)
        for device_id in device_ids:
            self.registry.set_status(device_id, status)
