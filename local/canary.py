"""The canary beside a platform on this machine: the function's own code, called by a thread."""

import logging
import threading
from collections.abc import Callable
from typing import Final, Protocol

from clients.device_api import DeviceKey
from clients.devices.canary import Canary
from clients.devices.registry import RegisteredDevice
from fleetlane.events.canary import CanaryMessage, messages_of, slot_at
from fleetlane.events.times import now_ms
from operations.devices.canary import canary_device
from operations.ledger.message_results import Receipt

_STOP_S: Final = 15.0

_log = logging.getLogger(__name__)


class Registry(Protocol):
    """Where its device is registered; ``clients.devices.registry.DeviceRegistry`` is one."""

    def register(self, device: RegisteredDevice) -> None: ...


class LocalCanary:
    """Sends the messages of each slot of ``interval_ms`` once, until it is stopped.

    Its key is made at each start, and never leaves the process.
    """

    def __init__(
        self, api_url: str, registry: Registry, *, interval_ms: int, now: Callable[[], int] = now_ms
    ) -> None:
        self._api_url, self._registry, self._interval_ms = api_url, registry, interval_ms
        self._now_ms = now
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="canary", daemon=True)
        self._accepted: list[CanaryMessage] = []

    def start(self) -> None:
        """Register the device and begin; raises ``RegistryUnavailableError``."""
        key = DeviceKey.generate()
        self._registry.register(canary_device(key, now_ms=self._now_ms()))
        self._canary = Canary(api_url=self._api_url, key=key)
        self._thread.start()

    def stop(self) -> tuple[Receipt, ...]:
        """Send no more slots, and give what it was answered; waits a while for one under way."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)
        return tuple(
            Receipt(raw_id=one.raw_id, sha256=one.sha256, events=1) for one in self._accepted
        )

    def _run(self) -> None:
        next_ms = 0
        while not self._stopping.wait(max(0, next_ms - self._now_ms()) / 1_000):
            at_ms = self._now_ms()
            if at_ms < next_ms:  # the wait has a clock of its own, which may be faster
                continue
            slot_ms = slot_at(at_ms, interval_ms=self._interval_ms)
            next_ms = slot_ms + self._interval_ms
            sent = self._canary.send_all(messages_of(slot_ms), now_ms=at_ms)
            self._accepted += sent.accepted
            for message, problem in sent.problems.items():
                _log.warning("canary, %s: not accepted: %s", message.route, problem)
