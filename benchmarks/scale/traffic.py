"""What is sent: by a fleet to the gateway, and straight into Kafka to keep the lanes busy."""

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from copy import replace
from itertools import count
from random import Random
from typing import Final

import orjson

from benchmarks.parse.workload import message
from benchmarks.running.messages import Record, land_evenly, raw_producer, record_of
from benchmarks.running.services import Services
from clients.devices.registry import DeviceStatus
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from local.platform import Platform
from local.simulator import bodies
from local.simulator.device import Expected, Outgoing, SimulatedDevice, signing_key
from local.simulator.http_api import HttpApi
from local.simulator.sender import Sender

EVERY_S: Final = 20.0
MESSAGES_A_TOKEN: Final = 5
"""API Gateway forgets a token's answer after five minutes, here after five messages: what the bill
takes for usual."""

_FAST_EVENTS, _STANDARD_EVENTS, _LARGE_ENTRIES = 21, 13, 515  # about 1 KiB, 1 KiB and 512 KiB
_TOKEN_S: Final = 3_600
_CONNECTIONS: Final = 32
_PATIENCE_S: Final = 30.0
_IN_TURN: Final = 200
_APART: Final = 77
"""Neighbours are sent at about the same time: of two neighbours at most one has a large body."""
_BODIES: Final = 2_000
_LAST_NUMBER: Final = count()


class RefusedError(Exception):
    """A message was not accepted, or in another lane: nothing is measured then."""


def lane_of(number: int) -> Lane:
    """Whose device this is: of 200, 20 are in the fast lane, 4 in bulk and 1 in slow.

    Of large bodies there are twice as many as usual, and of slow ones five times: so that there
    are some in a minute.
    """
    place = number * _APART % _IN_TURN
    lanes = ((Lane.SLOW, 1), (Lane.BULK, 5), (Lane.FAST, 25))
    return next((lane for lane, below in lanes if place < below), Lane.STANDARD)


def outgoing(lane: Lane, chance: Random, at_ms: int) -> Outgoing:
    """A new message for a lane; each of its kind has the same number of events."""
    match lane:
        case Lane.FAST:
            stream, body = "door", bodies.door(chance, at_ms, _FAST_EVENTS)
        case Lane.BULK:
            stream, body = "diagnostics", bodies.diagnostics(chance, at_ms, _LARGE_ENTRIES)
        case Lane.SLOW:
            stream, body = "canary-slow", _entries(chance, at_ms)
        case _:
            stream, body = "gps", bodies.gps(chance, at_ms, _STANDARD_EVENTS)
    return Outgoing(
        stream=stream,
        body=body,
        content_type="application/json",
        expected=Expected(lane=lane),
        is_fast=lane is Lane.FAST,
    )


def _entries(chance: Random, at_ms: int) -> bytes:
    document = orjson.loads(bodies.diagnostics(chance, at_ms, _LARGE_ENTRIES))
    return orjson.dumps(document["entries"])


class Accepted:
    """Counts what was accepted, by lane, and how often it had to be sent again."""

    def __init__(self) -> None:
        self.messages, self.body_bytes, self.retries = Counter[Lane](), Counter[Lane](), 0

    def add(self, lane: Lane, messages: int, body_bytes: int) -> None:
        self.messages[lane] += messages
        self.body_bytes[lane] += body_bytes


@contextmanager
def _meanwhile(send: Callable[[threading.Event], object]) -> Iterator[None]:
    """Send in a thread while the block runs, until the event is set; raises what that does."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        sending = thread.submit(send, over)
        try:
            yield
        finally:
            over.set()
    sending.result()


class Fleet:
    """Registered devices, each of which sends every ``EVERY_S`` seconds."""

    def __init__(self, platform: Platform, devices: int, accepted: Accepted) -> None:
        self._url, self._accepted = platform.endpoints.api, accepted
        self._chance = Random(7)  # noqa: S311 - a simulation
        self._devices = [self._device(number) for number in range(devices)]
        registered = (one.registration(registered_ms=now_ms()) for one in self._devices)
        platform.registry.register_all(one for one in registered if one is not None)

    @contextmanager
    def sending(self, devices: int) -> Iterator[None]:
        """So many of them send while the block runs.

        Raises:
            RefusedError: A message was not accepted, or in another lane.
        """
        with _meanwhile(lambda over: asyncio.run(self._send(self._devices[:devices], over))):
            yield

    def _device(self, number: int) -> SimulatedDevice:
        return SimulatedDevice(
            device_id=f"scale-{number:06d}",
            device_type="tracker",
            firmware="2.1.0",
            status=DeviceStatus.ACTIVE,
            key=signing_key(number, self._chance),
        )

    async def _send(self, devices: Sequence[SimulatedDevice], over: threading.Event) -> None:
        with closing(HttpApi(self._url, connections=_CONNECTIONS)) as api:
            sender, began_s = Sender(api, patience_s=_PATIENCE_S), time.monotonic()
            async with asyncio.TaskGroup() as senders:
                for number, device in enumerate(devices):
                    first_s = began_s + EVERY_S * number / len(devices)
                    senders.create_task(self._send_as(device, number, sender, first_s, over))

    async def _send_as(
        self,
        device: SimulatedDevice,
        number: int,
        sender: Sender,
        next_s: float,
        over: threading.Event,
    ) -> None:
        lane, token = lane_of(number), None
        for turn in count(number % MESSAGES_A_TOKEN):
            while not over.is_set() and next_s > time.monotonic():
                await asyncio.sleep(min(1.0, next_s - time.monotonic()))
            if over.is_set():
                return
            if token is None or turn % MESSAGES_A_TOKEN == 0:
                token = _token(device)
            await self._sent(device, token, sender, outgoing(lane, self._chance, now_ms()))
            next_s += EVERY_S

    async def _sent(
        self, device: SimulatedDevice, token: str, sender: Sender, one: Outgoing
    ) -> None:
        sent = await sender.send(device, token, one)
        if (surprise := sent.surprise()) is not None:
            raise RefusedError(surprise)
        self._accepted.retries += len(sent.answers) - 1
        self._accepted.add(one.expected.lane, 1, len(one.body))


def _token(device: SimulatedDevice) -> str:
    """Another one each time, even within one second."""
    lifetime_s = _TOKEN_S + next(_LAST_NUMBER) % _TOKEN_S
    return device.key.token(device.device_id, now_s=now_ms() // 1_000, lifetime_s=lifetime_s)


class Landing:
    """Writes standard messages into Kafka, many at once, which ingest's never are."""

    def __init__(self, kafka: Services, accepted: Accepted) -> None:
        chance, at_ms = Random(8), now_ms()  # noqa: S311 - a simulation
        self._accepted, self._producer = accepted, raw_producer(kafka)
        self._bodies = [bodies.gps(chance, at_ms, _STANDARD_EVENTS) for _ in range(_BODIES)]
        self._numbers = count()

    @contextmanager
    def sending(self, per_s: float) -> Iterator[None]:
        """Write so many a second while the block runs; all are in Kafka after it.

        Raises:
            TimeoutError: Kafka does not take them.
        """
        how = {"per_s": per_s, "seconds": math.inf}
        with _meanwhile(lambda over: land_evenly(self._producer, self._record, stop=over, **how)):
            yield

    def _record(self) -> Record:
        number = next(self._numbers)
        body = self._bodies[number % _BODIES]
        plain = message(number)
        one = replace(plain, stream="gps", body=body, body_bytes=len(body), arrival_millis=now_ms())
        self._accepted.add(one.lane, 1, len(body))
        return record_of(one)
