"""What is sent to each lane, and when what came of it was stored."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread
from typing import Final

from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from benchmarks.parse.workload import EVENTS
from benchmarks.running.delivered import events_in
from benchmarks.running.messages import (
    Act,
    Record,
    land_evenly,
    message_for,
    raw_producer,
    record_of,
)
from benchmarks.running.services import Services
from benchmarks.running.watched import Watched
from fleetlane.events.lanes import Lane
from fleetlane.events.times import now_ms
from fleetlane.events.topics import canonical_topic
from local.servers.processes import ServerProcess

STREAMS: Final[Mapping[Lane, str]] = {
    Lane.FAST: "quick",
    Lane.STANDARD: "steady",
    Lane.SLOW: "large",
}
_ALL_OUT_S_MAX: Final = 30.0
_DRAINED_S_MAX: Final = 240.0
_QUIET_S: Final = 12.0
_LOOK_EVERY_S: Final = 0.2
_LINGER_MS: Final = {Lane.FAST: 1, Lane.STANDARD: 50, Lane.SLOW: 50}
"""A request to the broker for each of some hundred messages a second would cost it half a core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Messages per second to a lane; ``acts`` are what they do, repeated in turn."""

    lane: Lane
    per_s: float
    acts: Sequence[Act] = (None,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """How long to send. What arrives in the first ``unmeasured_s`` does not count.

    Where ``is_enough`` is not so by then it goes on until it is, for ``seconds_max`` at most.
    """

    seconds: float
    unmeasured_s: float
    is_enough: Callable[[], bool] = lambda: True
    seconds_max: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out of a lane, in milliseconds.

    ``quick_ms`` are of those without an act, of which ``quick_sent`` were sent.
    """

    latencies_ms: list[int] = field(default_factory=list)
    quick_ms: list[int] = field(default_factory=list)
    quick_sent: int


def stored_by_the_brokers_clock(services: Services, streams: Iterable[str]) -> None:
    """Let records of the streams' canonical topics carry when the broker stored them."""
    entry = ConfigEntry(
        "message.timestamp.type", "LogAppendTime", incremental_operation=AlterConfigOpType.SET
    )
    resources = [
        ConfigResource(ResourceType.TOPIC, canonical_topic(stream), incremental_configs=[entry])
        for stream in streams
    ]
    for future in services.admin.incremental_alter_configs(resources).values():
        future.result()


class Traffic:
    """Sends to lanes. Numbers of messages go on from phase to phase, so that none comes twice."""

    def __init__(self, services: Services) -> None:
        self._services, self._numbers = services, count()
        self._quick_arrivals: dict[Lane, dict[int, int]] = {lane: {} for lane in STREAMS}

    def measured(self, loads: Sequence[Load], span: Span) -> dict[Lane, Measured]:
        """Send for a while, and give what came out of each lane until nothing more did.

        A message takes from its producing to the storing of its last event.
        """
        begins = {load.lane: self._offsets(load.lane) for load in loads}
        began_ms, stop = now_ms(), Event()
        seconds_max = max(span.seconds, span.seconds_max)
        senders = [self._sender(load, seconds_max, stop) for load in loads]
        for sender in senders:
            sender.start()
        time.sleep(span.seconds)
        until_s = time.monotonic() + seconds_max - span.seconds
        while time.monotonic() < until_s and not span.is_enough():
            time.sleep(_LOOK_EVERY_S)
        stop.set()
        for sender in senders:
            sender.join()
        counted_from_ms = began_ms + round(span.unmeasured_s * 1000)
        all_out(lambda: [self._offsets(load.lane) for load in loads])
        return {
            load.lane: self._measured(load.lane, begins[load.lane], counted_from_ms)
            for load in loads
        }

    def record(self, lane: Lane, act: Act) -> Record:
        """The next message of a lane's flow, which arrives now."""
        number, arrival_ms = next(self._numbers), now_ms()
        if act is None:
            self._quick_arrivals[lane][number] = arrival_ms
        return record_of(
            message_for(number, stream=STREAMS[lane], lane=lane, act=act, arrival_ms=arrival_ms)
        )

    def watched(self, lane: Lane, job: ServerProcess) -> Watched:
        """Count the messages that come out of a lane from now on, and look at what runs it."""
        topic = canonical_topic(STREAMS[lane])
        before = self._services.end_offset(topic)
        return Watched(
            [job],
            done=lambda: (self._services.end_offset(topic) - before) / EVENTS,
            seconds_max=_DRAINED_S_MAX,
        )

    def _sender(self, load: Load, seconds: float, stop: Event) -> Thread:
        producer = raw_producer(self._services, linger_ms=_LINGER_MS[load.lane])
        numbers = count()

        def next_record() -> Record:
            return self.record(load.lane, load.acts[next(numbers) % len(load.acts)])

        def send() -> None:
            land_evenly(producer, next_record, per_s=load.per_s, seconds=seconds, stop=stop)

        return Thread(target=send, daemon=True)

    def _measured(self, lane: Lane, begins: list[int], from_ms: int) -> Measured:
        quick = self._quick_arrivals[lane]
        measured = Measured(quick_sent=sum(arrival >= from_ms for arrival in quick.values()))
        for event in events_in(self._services, canonical_topic(STREAMS[lane]), begins):
            if event.ordinal == EVENTS - 1 and event.arrival_ms >= from_ms:
                latency_ms = event.stored_ms - event.arrival_ms
                measured.latencies_ms.append(latency_ms)
                if event.message in quick:
                    measured.quick_ms.append(latency_ms)
        return measured

    def _offsets(self, lane: Lane) -> list[int]:
        return self._services.end_offsets(canonical_topic(STREAMS[lane]))


def all_out(offsets: Callable[[], object]) -> None:
    """Wait until nothing more comes out for a trigger of the slowest lane, and a bit."""
    seen, seen_at_s = None, time.monotonic()
    until_s = seen_at_s + _ALL_OUT_S_MAX
    while (now_s := time.monotonic()) < until_s and now_s - seen_at_s < _QUIET_S:
        found = offsets()
        if found != seen:
            seen, seen_at_s = found, now_s
        time.sleep(_LOOK_EVERY_S)
