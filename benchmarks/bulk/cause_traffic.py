"""What is sent to the bulk lane, cause by cause, and how long what came of it took."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import replace
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import count
from math import inf
from threading import Event, Thread
from typing import Final

from benchmarks.parse.workload import EVENTS
from benchmarks.running.delivered import events_in
from benchmarks.running.messages import (
    Act,
    Record,
    all_delivered,
    land,
    land_evenly,
    message_for,
    raw_producer,
    record_of,
)
from benchmarks.running.services import BUCKET, Services
from clients.s3.payload_bucket import PayloadBucket, payload_key
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.times import now_ms
from fleetlane.events.topics import RawTopic, canonical_topic

LARGE_BYTES: Final = 512 << 10
_BODIES: Final = 20
_LINGER_MS: Final = 1
_POLL_S: Final = 0.2


def bulk_topic(cause: BulkCause, *, is_over: bool = False) -> str:
    return str(RawTopic(lane=Lane.BULK, cause=cause, is_over=is_over))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """Messages that go on and on. All are of ``device_id``, if one is given."""

    stream: str
    cause: BulkCause
    per_s: float
    act: Act = None
    device_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """Latencies of the messages that are not of a flood, and how many did not come out."""

    latencies_ms: list[int]
    missing: int


class CauseTraffic:
    """Sends to the bulk lane. Numbers of messages go on, so that none comes twice."""

    def __init__(self, services: Services) -> None:
        self._services, self._numbers = services, count()
        self._bodies = list(_large_bodies(services))

    def land(self, messages: int, *, stream: str, cause: BulkCause, act: Act = None) -> None:
        """Write messages at once; returns when Kafka has them."""
        producer = raw_producer(self._services)
        for _ in range(messages):
            land(producer, self._record(stream, cause, act))
            producer.poll(0)
        all_delivered(producer)

    @contextmanager
    def flooding(self, floods: Sequence[Flood]) -> Iterator[None]:
        """Send floods, each by a thread of its own, for as long as this is entered."""
        stop = Event()
        senders = [
            self._sender(partial(self._of_flood, flood), flood.per_s, stop=stop) for flood in floods
        ]
        for sender in senders:
            sender.start()
        try:
            yield
        finally:
            stop.set()
            for sender in senders:
                sender.join()

    def others(self, stream: str, *, per_s: float, seconds: float, wait_s_max: float) -> Others:
        """Send large messages evenly, and wait until all have come out, or for so long."""
        topic, sent = canonical_topic(stream), set[int]()
        begins = self._services.end_offsets(topic)

        def next_record() -> Record:
            message = self._large_message(stream)
            sent.add(int(message.raw_id[1:], 16))
            return record_of_bulk(message)

        sender = self._sender(next_record, per_s, seconds=seconds)
        sender.start()
        sender.join()
        until_s = time.monotonic() + wait_s_max
        events = len(sent) * EVENTS + sum(begins)
        while time.monotonic() < until_s and self._services.end_offset(topic) < events:
            time.sleep(_POLL_S)
        latencies_ms = {
            event.message: event.stored_ms - event.arrival_ms
            for event in events_in(self._services, topic, begins)
            if event.ordinal == EVENTS - 1 and event.message in sent
        }
        return Others(
            latencies_ms=list(latencies_ms.values()), missing=len(sent) - len(latencies_ms)
        )

    def _sender(
        self,
        next_record: Callable[[], Record],
        per_s: float,
        *,
        seconds: float = inf,
        stop: Event | None = None,
    ) -> Thread:
        producer, stop = raw_producer(self._services, linger_ms=_LINGER_MS), stop or Event()

        def send() -> None:
            land_evenly(producer, next_record, per_s=per_s, seconds=seconds, stop=stop)

        return Thread(target=send, daemon=True)

    def _record(self, stream: str, cause: BulkCause, act: Act = None) -> Record:
        return record_of_bulk(self._message(stream, cause, act))

    def _of_flood(self, flood: Flood) -> Record:
        message = self._message(flood.stream, flood.cause, flood.act)
        if flood.device_id is not None:
            message = replace(message, device_id=flood.device_id)
        return record_of_bulk(message)

    def _message(self, stream: str, cause: BulkCause, act: Act) -> Message:
        number = next(self._numbers)
        plain = message_for(number, stream=stream, lane=Lane.BULK, act=act, arrival_ms=now_ms())
        revision = 1 if cause is BulkCause.REPLAYED else 0
        return replace(plain, bulk_cause=cause, revision=revision)

    def _large_message(self, stream: str) -> Message:
        plain = self._message(stream, BulkCause.LARGE, None)
        reference = self._bodies[int(plain.raw_id[1:], 16) % _BODIES]
        return replace(plain, body=None, body_bytes=LARGE_BYTES, reference=reference)


def record_of_bulk(message: Message) -> Record:
    """What ingest would write of a message for the bulk lane: to the topic of its cause."""
    assert message.bulk_cause is not None, "all that is sent here has one"
    return record_of(message)._replace(topic=bulk_topic(message.bulk_cause))


def _large_bodies(services: Services) -> Iterator[PayloadReference]:
    bucket = PayloadBucket(services.s3, BUCKET)
    for number in range(_BODIES):
        plain = message_for(number, stream="any").body or b""
        padding = LARGE_BYTES - len(plain) - len(b'{"padding":"",') + 1
        body = b'{"padding":"%b",' % (b"x" * padding) + plain[1:]
        key = payload_key(f"large-{number}")
        yield bucket.put(key, body, sha256(body).hexdigest())
