"""Who was heard of today: each device once, and not too many at a time."""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Final, Protocol

from clients.devices.registry import RegistryUnavailableError
from clients.devices.sightings import Sighting
from fleetlane.events.times import DAY_MS

DEVICES_MAX: Final = 1_000_000
"""So many are remembered; beyond that DynamoDB itself turns a second write of a day down."""

_log = logging.getLogger(__name__)


class NotesSightings(Protocol):
    """Where they are written; ``clients.devices.sightings.DeviceSightings`` is one."""

    def note(self, sighting: Sighting) -> bool: ...


class LastSeen:
    """Writes a few sightings a batch, so that a herd does not use up the registry's capacity.

    A device that waits for its turn is written with the first sighting of its day that came here.
    What a restart forgets comes with the device's next message.
    """

    def __init__(
        self, registry: NotesSightings, *, at_once_max: int, devices_max: int = DEVICES_MAX
    ) -> None:
        self._registry, self._at_once_max = registry, at_once_max
        self._devices_max = devices_max
        self._day_noted: dict[str, int] = {}
        self._waiting: dict[str, Sighting] = {}

    def add(self, batch: Iterable[Sighting]) -> None:
        for one in batch:
            is_news = _day(one) > self._day_noted.get(one.device_id, -1)
            waiting = self._waiting.get(one.device_id)
            is_newer = waiting is None or _day(one) > _day(waiting)
            if is_news and is_newer and len(self._waiting) < self._devices_max:
                self._waiting[one.device_id] = one

    def write_some(self) -> None:
        """Write the next of those that wait. The registry being away costs a line in the log."""
        for one in list(islice(self._waiting.values(), self._at_once_max)):
            try:
                self._registry.note(one)
            except RegistryUnavailableError as problem:
                _log.warning("%d sightings wait: %s", len(self._waiting), problem)
                return
            del self._waiting[one.device_id]
            if len(self._day_noted) >= self._devices_max:
                self._day_noted.clear()
            self._day_noted[one.device_id] = _day(one)


def _day(sighting: Sighting) -> int:
    return sighting.seen_ms // DAY_MS
