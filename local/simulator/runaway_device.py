"""A device that goes out of its mind, is set aside, comes to its senses and is let back in."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Final

from clients.devices.registry import DeviceStatus
from fleetlane.events.lanes import Lane
from local.simulator.behaviours import Circumstances, normal
from local.simulator.device import SimulatedDevice, signing_key
from local.simulator.http_api import HttpApi
from local.simulator.messages import SentMessage
from local.simulator.sender import Sender, token_of
from local.simulator.simulator import Registry
from operations.ledger import Receipt

PER_MINUTE: Final = 1_000
"""A thousand times what a weather station sends."""

_STREAM: Final = "weather"
_SILENT_S: Final = 10.0
_CALM_PAUSE_S: Final = 2.0
_ANSWER_TIMEOUT_S: Final = 35.0
_LOOK_UP_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class InsaneRun:
    """What it sent from ``began_ms`` on, and how long after that it was set aside and let back in.

    ``None``: not while the patience lasted.
    """

    began_ms: int
    patience_s: float
    sent: tuple[SentMessage, ...]
    aside_after_s: float | None
    back_after_s: float | None

    @property
    def raged_until_ms(self) -> int:
        """When it was set aside; where it never was, when the patience was over."""
        raged_s = self.patience_s if self.aside_after_s is None else self.aside_after_s
        return self.began_ms + round(1_000 * raged_s)

    def receipts(self) -> Iterator[Receipt]:
        for message in self.sent:
            yield from message.receipts()

    def line(self) -> str:
        """The same for people."""
        rate = f"insane device: {PER_MINUTE:,} messages a minute, {len(self.sent):,} in all"
        if self.aside_after_s is None:
            return f"{rate}; never set aside"
        aside = f"set aside after {self.aside_after_s:.0f} s"
        if self.back_after_s is None:
            return f"{rate}; {aside}, never let back in"
        return f"{rate}; {aside}, back by itself after {self.back_after_s:.0f} s"


def run_insane_device(
    api_url: str,
    registry: Registry,
    *,
    seed: int,
    patience_s: float = 60.0,
    is_over: Callable[[], bool] = lambda: False,
) -> InsaneRun:
    """Register it and let it send; blocks until it was set aside, was calm and is back.

    It waits for either for at most ``patience_s``, and gives up soon after ``is_over`` says so.

    Raises:
        RegistryUnavailableError: It could not be registered; nothing was sent.
    """
    random, now_ms = Random(seed), _now_ms()  # noqa: S311 - a simulation
    device = SimulatedDevice(
        device_id=insane_id(seed),
        device_type="weather-station",
        firmware="2.1.0",
        status=DeviceStatus.ACTIVE,
        key=signing_key(1, random),
    )
    registered = device.registration(registered_ms=now_ms)
    registry.register_all(() if registered is None else (registered,))
    api = HttpApi(api_url, connections=1, timeout_s=_ANSWER_TIMEOUT_S)
    with closing(api):
        sender = Sender(api, patience_s=patience_s)
        insane = _InsaneDevice(device, sender, random, token_of(device, now_ms=now_ms), is_over)
        return asyncio.run(insane.run(patience_s))


def insane_id(seed: int) -> str:
    """Its device id."""
    return f"insane-{seed}"


class _InsaneDevice:
    """The device, and what it sent so far."""

    def __init__(
        self,
        device: SimulatedDevice,
        sender: Sender,
        random: Random,
        token: str,
        is_over: Callable[[], bool],
    ) -> None:
        self._device, self._sender = device, sender
        self._random, self._token, self._is_over = random, token, is_over
        self._sent: list[SentMessage] = []
        self._began_s, self._began_ms = time.monotonic(), _now_ms()

    async def run(self, patience_s: float) -> InsaneRun:
        aside_s = await self._until(Lane.SLOW, pause_s=60 / PER_MINUTE, patience_s=patience_s)
        back_s = None
        if aside_s is not None:
            await self._be_silent()
            back_s = await self._until(Lane.STANDARD, pause_s=_CALM_PAUSE_S, patience_s=patience_s)
        return InsaneRun(
            began_ms=self._began_ms,
            patience_s=patience_s,
            sent=tuple(self._sent),
            aside_after_s=aside_s,
            back_after_s=back_s,
        )

    async def _be_silent(self) -> None:
        until_s = time.monotonic() + _SILENT_S
        while time.monotonic() < until_s and not self._is_over():
            await asyncio.sleep(_LOOK_UP_S)

    async def _until(self, lane: Lane, *, pause_s: float, patience_s: float) -> float | None:
        """Send at a steady rate until one lands in ``lane``; how long after the beginning."""
        first_s = time.monotonic()
        for number in range(int(patience_s / pause_s)):
            await asyncio.sleep(max(0.0, first_s + number * pause_s - time.monotonic()))
            if time.monotonic() > first_s + patience_s or self._is_over():
                return None
            if await self._lane_of_next() == lane:
                return time.monotonic() - self._began_s
        return None

    async def _lane_of_next(self) -> str | None:
        now_ms = _now_ms()
        at = Circumstances(random=self._random, now_ms=now_ms, messages=1)
        for message in normal(_STREAM)(at):
            self._sent.append(await self._sender.send(self._device, self._token, message))
        return self._sent[-1].final.lane


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
