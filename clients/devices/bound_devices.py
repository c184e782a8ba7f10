"""Which devices a gateway may send for: looked up in the registry, and cached for a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from clients.devices.registry import RegisteredDevice

MAX_AGE_S: Final = 60.0


class CachedBoundDevices:
    """Remembers bonds that it found, for a minute. May be used by several threads.

    That there is no bond is never remembered: a device that was just bound may send at once.
    """

    def __init__(
        self,
        find_all: Callable[[Iterable[str]], Mapping[str, RegisteredDevice]],
        *,
        kept_max: int = 20_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look devices up as ``find_all`` of a registry does; keep the newest ``kept_max``."""
        self._find_all, self._monotonic = find_all, monotonic
        self._kept_max = kept_max
        self._changing = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, RegisteredDevice]] = OrderedDict()

    def bound_to(self, gateway_id: str, ids: frozenset[str]) -> Mapping[str, RegisteredDevice]:
        """Find those of the devices that the gateway may speak for, whatever their status.

        Raises ``RegistryUnavailableError`` where some are not remembered.
        """
        oldest_s = self._monotonic() - MAX_AGE_S
        with self._changing:
            kept = {one: self._kept[one] for one in ids if one in self._kept}
        known = {
            one: device
            for one, (read_s, device) in kept.items()
            if read_s > oldest_s and device.gateway_id == gateway_id
        }
        unknown = ids - known.keys()
        if not unknown:
            return known
        found = self._find_all(unknown)
        bound = {one: device for one, device in found.items() if device.gateway_id == gateway_id}
        self._keep(bound)
        return known | bound

    def _keep(self, devices: Mapping[str, RegisteredDevice]) -> None:
        now_s = self._monotonic()
        with self._changing:
            for one, device in devices.items():
                self._kept[one] = (now_s, device)
                self._kept.move_to_end(one)
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
