"""When devices were last seen, and with which firmware: kept in their registry items."""

from dataclasses import dataclass
from typing import Any

from clients.aws import Table, asking
from clients.devices.registry import RegistryUnavailableError, is_updated
from fleetlane.events.times import DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A message of a device arrived. ``firmware`` is as it declared it, if it did."""

    device_id: str
    seen_ms: int
    firmware: str | None = None


class DeviceSightings:
    """Sightings in the registry's table; the other attributes of an item stay as they are.

    Both raise ``RegistryUnavailableError`` where DynamoDB does not answer, or is asked too much.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def note(self, sighting: Sighting) -> bool:
        """Write it down, unless the device is unknown or was seen that day (UTC), or later.

        Returns whether it was written: so there is one write a device and day, and what comes late
        never takes the place of what is newer.
        """
        day_ms = sighting.seen_ms - sighting.seen_ms % DAY_MS
        values: dict[str, Any] = {":seen": sighting.seen_ms, ":day": day_ms}
        change = "SET last_seen_ms = :seen"
        if sighting.firmware is not None:
            change += ", firmware = :firmware"
            values[":firmware"] = sighting.firmware
        return is_updated(
            self._table,
            sighting.device_id,
            UpdateExpression=change,
            ConditionExpression="attribute_exists(device_id) AND "
            "(attribute_not_exists(last_seen_ms) OR last_seen_ms < :day)",
            ExpressionAttributeValues=values,
        )

    def find(self, device_id: str) -> Sighting | None:
        """When a device was last seen; ``None`` where it never was."""
        with asking(RegistryUnavailableError):
            answer = self._table.get_item(Key={"device_id": device_id}, ConsistentRead=True)
        item: dict[str, Any] = dict(answer.get("Item", {}))
        if "last_seen_ms" not in item:
            return None
        return Sighting(
            device_id=device_id, seen_ms=int(item["last_seen_ms"]), firmware=item.get("firmware")
        )
