"""A runaway device: it sends far too much, is quarantined, calms down and is released."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Final

from clients.devices.registry import DeviceStatus
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from local.simulator.behaviours import Circumstances, normal
from local.simulator.device import SentMessage, SimulatedDevice, signing_key
from local.simulator.http_api import HttpApi
from local.simulator.sender import Sender, token_of
from local.simulator.simulator import FleetRun, Registry

PER_MINUTE: Final = 1_000
"""A thousand times what a weather station sends."""

_STREAM: Final = "weather"
_SILENT_S: Final = 10.0
_CALM_PAUSE_S: Final = 2.0
_POLL_INTERVAL_S: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class RunawayRun(FleetRun):
    """What it sent, and how long after ``began_ms`` it was quarantined and released.

    ``None``: not while the patience lasted. ``free_until_ms`` is when it was quarantined or, where
    it never was, when the patience was over.
    """

    free_until_ms: int
    quarantined_after_s: float | None
    released_after_s: float | None

    def line(self) -> str:
        rate = f"runaway device: {PER_MINUTE:,} messages a minute, {len(self.sent):,} in all"
        if self.quarantined_after_s is None:
            return f"{rate}; never quarantined"
        quarantined = f"quarantined after {self.quarantined_after_s:.0f} s"
        if self.released_after_s is None:
            return f"{rate}; {quarantined}, never released"
        return f"{rate}; {quarantined}, released after {self.released_after_s:.0f} s"


def run_runaway_device(
    api_url: str,
    registry: Registry,
    *,
    seed: int,
    patience_s: float = 60.0,
    is_over: Callable[[], bool] = lambda: False,
) -> RunawayRun:
    """Register it and let it send; blocks until it was quarantined, was calm and is released.

    Waits for either for at most ``patience_s``, and ends soon after ``is_over`` is true. Raises
    ``RegistryUnavailableError`` before anything is sent.
    """
    random, began_ms = Random(seed), now_ms()  # noqa: S311 - a simulation
    device = SimulatedDevice(
        device_id=runaway_id(seed),
        device_type="weather-station",
        firmware="2.1.0",
        status=DeviceStatus.ACTIVE,
        key=signing_key(1, random),
    )
    registry.register_all(filter(None, [device.registration(registered_ms=began_ms)]))
    token, weather = token_of(device, now_ms=began_ms), normal(_STREAM)
    with closing(HttpApi(api_url, connections=1)) as api:
        sender = Sender(api, patience_s=patience_s)

        async def send() -> SentMessage:
            at = Circumstances(random=random, now_ms=now_ms(), messages=1)
            return await sender.send(device, token, next(weather(at)))

        return asyncio.run(_run(send, patience_s=patience_s, is_over=is_over))


def runaway_id(seed: int) -> str:
    return f"runaway-{seed}"


async def _run(
    send: Callable[[], Awaitable[SentMessage]], *, patience_s: float, is_over: Callable[[], bool]
) -> RunawayRun:
    began_s, began_ms, sent = time.monotonic(), now_ms(), list[SentMessage]()

    async def landed_in(lane: Lane, *, pause_s: float) -> float | None:
        """Send at a steady rate until a message lands in ``lane``; after how long that was."""
        first_s = time.monotonic()
        for number in range(int(patience_s / pause_s)):
            await asyncio.sleep(max(0.0, first_s + number * pause_s - time.monotonic()))
            if time.monotonic() > first_s + patience_s or is_over():
                return None
            sent.append(await send())
            if sent[-1].final.lane == lane:
                return time.monotonic() - began_s
        return None

    released_s, quarantined_s = None, await landed_in(Lane.BULK, pause_s=60 / PER_MINUTE)
    if quarantined_s is not None:
        until_s = time.monotonic() + _SILENT_S
        while time.monotonic() < until_s and not is_over():
            await asyncio.sleep(_POLL_INTERVAL_S)
        released_s = await landed_in(Lane.STANDARD, pause_s=_CALM_PAUSE_S)
    free_s = patience_s if quarantined_s is None else quarantined_s
    return RunawayRun(
        began_ms=began_ms,
        free_until_ms=began_ms + round(1_000 * free_s),
        sent=tuple(sent),
        quarantined_after_s=quarantined_s,
        released_after_s=released_s,
    )
