"""Flows and messages of ``behaving_parser``: 1 KB each with ten events, and what is to be done."""

import time
from collections.abc import Callable, Iterable
from copy import replace
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer

from benchmarks.parse.workload import message
from benchmarks.running import behaving_parser
from benchmarks.running.services import OWNER, Services
from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawTopic, raw_key

type Act = str | int | None
"""What a message has its parser do; ``None``: parse it."""

REFUSE: Final = "refuse"
FAIL: Final = "fail"
REST: Final = "rest"
HANG: Final = "hang"

_DELIVERED_S: Final = 60.0
_TICK_S: Final = 0.002


class Record(NamedTuple):
    """A raw record, as a producer takes it."""

    topic: str
    value: bytes | None
    key: bytes
    headers: Any


def deploy_parser(services: Services) -> None:
    services.deploy(Path(behaving_parser.__file__), "behaving", "Behaving")


def flow_of(stream: str, *, lane: Lane = Lane.STANDARD, owner: str = OWNER) -> Flow:
    text = f"""
        stream = "{stream}"
        owner = "{owner}"
        lane = "{lane}"
        [event_time]
        field = "at"
        unit = "ms"
        [[parsers]]
        use = "behaving==1.0"
    """
    return flow_from_toml(text, file=f"{stream}.toml")


def message_for(
    number: int,
    *,
    stream: str,
    lane: Lane = Lane.STANDARD,
    act: Act = None,
    arrival_ms: int | None = None,
) -> Message:
    """Message ``number``: always the same one, but for what is said here."""
    plain = message(number)
    body = _acting(plain.body or b"", act)
    return replace(
        plain,
        stream=stream,
        lane=lane,
        body=body,
        body_bytes=len(body),
        arrival_millis=plain.arrival_millis if arrival_ms is None else arrival_ms,
    )


def raw_producer(services: Services, *, linger_ms: int = 5) -> Producer:
    return Producer(
        {
            "bootstrap.servers": services.bootstrap_servers,
            "compression.type": "lz4",
            "linger.ms": linger_ms,
            "queue.buffering.max.messages": 500_000,
            "log_level": 0,
        }
    )


def record_of(one: Message) -> Record:
    """What ingest would write of a message."""
    headers: Any = headers_of(one)  # the stub wants a list of wider pairs
    return Record(str(RawTopic(lane=one.lane)), one.body, raw_key(one.arrival_millis), headers)


def land(producer: Producer, record: Record) -> None:
    """Write a record; waits while the producer's queue is full."""
    while True:
        try:
            return producer.produce(*record[:3], headers=record.headers)
        except BufferError:
            producer.poll(0.05)


def land_all(services: Services, messages: Iterable[Message]) -> None:
    """Write messages; returns when Kafka has them."""
    producer = raw_producer(services)
    for one in messages:
        land(producer, record_of(one))
        producer.poll(0)
    all_delivered(producer)


def land_evenly(
    producer: Producer,
    next_record: Callable[[], Record],
    *,
    per_s: float,
    seconds: float,
    stop: Event,
) -> int:
    """Write so many records a second, evenly, for so long or until ``stop``; returns how many."""
    began_s, sent = time.monotonic(), 0
    while (passed_s := time.monotonic() - began_s) < seconds and not stop.is_set():
        for _ in range(int(passed_s * per_s) - sent):
            land(producer, next_record())
            sent += 1
        producer.poll(0)
        stop.wait(_TICK_S)
    all_delivered(producer)
    return sent


def all_delivered(producer: Producer) -> None:
    """Wait until Kafka has all that was written.

    Raises:
        TimeoutError: It does not take it.
    """
    left = producer.flush(_DELIVERED_S)
    if left:
        raise TimeoutError(f"{left} messages were not delivered within {_DELIVERED_S:g} s")


@cache
def _acting(body: bytes, act: Act) -> bytes:
    if act is None:
        return body
    said = f'"{act}"' if isinstance(act, str) else str(act)
    return b'{"act": ' + said.encode() + b", " + body[1:]
