"""The messages: 1 KB of JSON with ten readings each, and every header that an envelope can have."""

import json
import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from confluent_kafka import Producer

from benchmarks.parse.readings_parser import Readings
from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import raw_key

STREAM: Final = "bench"
RAW_TOPIC: Final = "raw.standard"
EVENTS: Final = 10
PARTITIONS: Final = 4
PARSER: Final = "readings@1.0"
_BODIES: Final = 2_000
_DEVICES: Final = 5_000
_BEGAN_MS: Final = 1_794_000_000_000
_NAMES: Final = (
    *("temperature", "humidity", "pressure", "co2", "voltage"),
    *("current", "rssi", "light", "accel_x", "accel_y"),
)


def flow(loops: int, sleep_ms: int = 0) -> Flow:
    """The flow of all contenders. Its parser runs ``loops`` loops for each message, and sleeps."""
    text = f"""
        stream = "{STREAM}"
        owner = "benchmarks"
        [event_time]
        field = "at"
        unit = "ms"
        [[parsers]]
        use = "readings==1.0"
        options = {{ loops = {loops}, sleep_ms = {sleep_ms} }}
    """
    return flow_from_toml(text, file=f"{STREAM}.toml")


def parser(loops: int) -> Readings:
    return Readings(loops=loops)


def message(number: int) -> Message:
    """Message ``number``, the same in every run."""
    body = _bodies()[number % _BODIES]
    return Message(
        raw_id=f"1{number:032x}",
        device_id=f"device-{number % _DEVICES:06d}",
        stream=STREAM,
        arrival_millis=_BEGAN_MS + number,
        lane=Lane.STANDARD,
        body=body,
        body_bytes=len(body),
        content_type="application/json",
        device_type="thermo",
        firmware="2.3.1",
        start_millis=_BEGAN_MS,
        end_millis=_BEGAN_MS + 9_000,
    )


def number_of(raw_id: str) -> int:
    return int(raw_id[1:], 16)


def write_messages(bootstrap_servers: str, count: int, *, partitions: int = PARTITIONS) -> None:
    """Write messages 0 to ``count`` to the raw topic, as ingest would."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "compression.type": "lz4",
            "linger.ms": 5,
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(count):
        one = message(number)
        record = (RAW_TOPIC, one.body, raw_key(one.arrival_millis))
        headers: Any = headers_of(one)  # the stub wants a list of wider pairs
        while True:
            try:
                producer.produce(*record, headers=headers, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


@cache
def _bodies() -> Sequence[bytes]:
    chance = random.Random(1)  # noqa: S311 - no secret
    return [_body(chance, place) for place in range(_BODIES)]


def _body(chance: random.Random, place: int) -> bytes:
    readings = [
        {
            "t": 1_000 * second,
            "n": name,
            "v": round(chance.random() * 100, 3),
            "u": f"unit{second}",
            "q": chance.randint(0, 3),
            "x": f"{chance.getrandbits(80):020x}",
        }
        for second, name in enumerate(_NAMES)
    ]
    document = {"v": 1, "fw": "2.3.1", "bat": 70, "base": _BEGAN_MS + place, "readings": readings}
    return json.dumps(document).encode()
