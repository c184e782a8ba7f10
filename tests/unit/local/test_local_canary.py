"""The canary beside a laptop's platform: real requests, to a server that keeps what came."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest

from clients.devices.registry import RegisteredDevice
from fleetlane.events.canary import DEVICE_ID, EACH_MINUTE, CanaryMessage, Route
from fleetlane.events.times import now_ms
from local.canary import LocalCanary

INTERVAL_MS = 250
SLOTS_SEEN = 3


class Door(ThreadingHTTPServer):
    """Answers each message with the id that it must have, until it is to refuse all."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.keys: list[str] = []
        self.has_seen_enough = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def took(self, key: str) -> None:
        self.keys.append(key)
        if len({one.rsplit("-", 1)[0] for one in self.keys}) > SLOTS_SEEN:
            self.has_seen_enough.set()


class _Request(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        door: Any = self.server
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        door.took(key)
        _, slot_ms, route = key.split("-")
        message = CanaryMessage(route=Route(route), slot_ms=int(slot_ms))
        answer = json.dumps({"id": message.raw_id}).encode()
        self.send_response(202)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


class FakeRegistry:
    """Keeps what was registered."""

    def __init__(self) -> None:
        self.devices: list[RegisteredDevice] = []

    def register(self, device: RegisteredDevice) -> None:
        self.devices.append(device)


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    serving = threading.Thread(target=door.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield door
    finally:
        door.shutdown()
        serving.join()
        door.server_close()


def test_every_slot_is_sent_once_and_each_message_has_its_receipt(door: Door) -> None:
    registry = FakeRegistry()
    canary = LocalCanary(door.url, registry, interval_ms=INTERVAL_MS)

    canary.start()
    assert door.has_seen_enough.wait(30)
    receipts = canary.stop()

    assert [device.device_id for device in registry.devices] == [DEVICE_ID]
    assert len(door.keys) == len(set(door.keys)) == len(receipts)
    assert {key.rpartition("-")[2] for key in door.keys} == set(EACH_MINUTE)


def test_a_slot_is_sent_once_by_a_clock_that_is_slower_than_the_wait(door: Door) -> None:
    asked_at_ms = count(now_ms(), 40)  # so much passes from one look at the clock to the next
    canary = LocalCanary(
        door.url, FakeRegistry(), interval_ms=INTERVAL_MS, now=lambda: next(asked_at_ms)
    )

    canary.start()
    assert door.has_seen_enough.wait(30)
    canary.stop()

    assert len(door.keys) == len(set(door.keys))


def test_once_stopped_it_sends_nothing_more(door: Door) -> None:
    canary = LocalCanary(door.url, FakeRegistry(), interval_ms=INTERVAL_MS)
    canary.start()
    assert door.has_seen_enough.wait(30)
    canary.stop()
    sent = len(door.keys)

    canary.stop()

    assert len(door.keys) == sent
    assert not any(thread.name == "canary" for thread in threading.enumerate())
