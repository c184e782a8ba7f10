"""Sightings in a dictionary, by the rules of ``clients.devices.sightings``."""

from clients.devices.registry import RegistryUnavailableError
from clients.devices.sightings import Sighting
from fleetlane.events.times import DAY_MS


class FakeSightings:
    """The sightings of registered devices; ``None`` as ``registered``: all are."""

    def __init__(self, registered: frozenset[str] | None = None) -> None:
        self._registered = registered
        self._noted: dict[str, Sighting] = {}
        self.writes, self.is_away = 0, False

    def note(self, sighting: Sighting) -> bool:
        if self.is_away:
            raise RegistryUnavailableError("away")
        self.writes += 1
        known = self._noted.get(sighting.device_id)
        is_later = known is None or known.seen_ms < sighting.seen_ms - sighting.seen_ms % DAY_MS
        is_registered = self._registered is None or sighting.device_id in self._registered
        if not is_registered or not is_later:
            return False
        firmware = sighting.firmware or (known.firmware if known is not None else None)
        self._noted[sighting.device_id] = Sighting(
            device_id=sighting.device_id, seen_ms=sighting.seen_ms, firmware=firmware
        )
        return True

    def find(self, device_id: str) -> Sighting | None:
        return self._noted.get(device_id)
