"""One attempt at one message: canonical records, or the reason why there are none."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fleetlane.events.canonical import NotJsonError, canonical_value, event_data, message_prefix
from fleetlane.events.envelope import Message
from fleetlane.events.errors import ParkedReason
from fleetlane.events.event_ids import event_ids
from fleetlane.events.event_time import TimeQuality, event_time_of
from fleetlane.events.flows import Flow
from fleetlane.events.keys import canonical_key
from fleetlane.events.topics import canonical_topic
from fleetlane.parsers.contract import MalformedMessage, Parser
from fleetlane.parsers.sandbox.time_limit import TimeIsUp, time_limit

OUTPUT_BYTES_MAX: Final = 64 << 20
"""All events of one message together."""


class CanonicalRecord(NamedTuple):
    """One canonical event, ready for Kafka."""

    topic: str
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseJob:
    """One message and all that its parsing needs. ``parser_identifier`` is ``name@version``."""

    message: Message
    body: bytes
    flow: Flow
    parser: Parser
    parser_identifier: str
    limit_s: float


@dataclass(slots=True, kw_only=True)
class Attempt:
    """What came of an attempt. With a ``reason`` it failed, and ``records`` is empty.

    ``first_event_ms`` and ``last_event_ms`` span the events whose time is believed.
    """

    reason: ParkedReason | None = None
    detail: str = ""
    parse_us: int = 0
    records: list[CanonicalRecord] = field(default_factory=list)
    first_event_ms: int | None = None
    last_event_ms: int | None = None


class _OverLimitError(Exception):
    def __init__(self, reason: ParkedReason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def attempted(job: ParseJob) -> Attempt:
    """Parse a message within its limits. Never raises for anything that the parser does."""
    attempt, started_ns = Attempt(), time.perf_counter_ns()
    try:
        with time_limit(job.limit_s):
            attempt.records.extend(_canonical_records(job, attempt))
    except TimeIsUp:
        _fail(attempt, ParkedReason.TIMEOUT, f"not parsed within {job.limit_s * 1000:.0f} ms")
    except (MalformedMessage, NotJsonError) as problem:
        _fail(attempt, ParkedReason.MALFORMED, str(problem))
    except _OverLimitError as problem:
        _fail(attempt, problem.reason, problem.detail)
    except MemoryError as problem:
        _fail(attempt, ParkedReason.MEMORY, f"out of memory: {problem}")
    except Exception as problem:  # noqa: BLE001 - the edge to code that is not ours
        _fail(attempt, ParkedReason.PARSER_FAILED, f"{type(problem).__name__}: {problem}")
    attempt.parse_us = (time.perf_counter_ns() - started_ns) // 1000
    return attempt


def _fail(attempt: Attempt, reason: ParkedReason, detail: str) -> None:
    attempt.reason, attempt.detail = reason, detail
    attempt.records.clear()
    attempt.first_event_ms = attempt.last_event_ms = None


def _canonical_records(job: ParseJob, attempt: Attempt) -> Iterator[CanonicalRecord]:
    message, flow = job.message, job.flow
    prefix = message_prefix(message, parser=job.parser_identifier)
    id_of = event_ids(message, flow.identity)
    topic, output_bytes = canonical_topic(flow.stream), 0
    for ordinal, event in enumerate(job.parser.parse(job.body)):
        _check_count(ordinal + 1, flow.limits.events_max)
        data = event_data(event)
        output_bytes += len(data)
        _check_sizes(len(data), flow.limits.event_bytes_max, output_bytes)
        when = event_time_of(event, flow.event_time, arrival_millis=message.arrival_millis)
        if when.quality is TimeQuality.OK:
            _widen(attempt, when.bucket_millis)
        yield CanonicalRecord(
            topic=_redirected(flow, event) or topic,
            key=canonical_key(
                flow.canonical.key, device_id=message.device_id, bucket_millis=when.bucket_millis
            ),
            value=canonical_value(prefix, event_id=id_of(event), time=when, data=data),
        )


def _redirected(flow: Flow, event: Mapping[str, object]) -> str | None:
    for redirect in flow.canonical.redirects:
        if event.get(redirect.when) == redirect.equals:
            return canonical_topic(redirect.to)
    return None


def _check_count(events: int, events_max: int) -> None:
    if events > events_max:
        detail = f"more than {events_max} events; the flow allows {events_max}"
        raise _OverLimitError(ParkedReason.TOO_MANY_EVENTS, detail)


def _check_sizes(event_bytes: int, event_bytes_max: int, output_bytes: int) -> None:
    if event_bytes > event_bytes_max:
        detail = f"an event is {event_bytes} bytes; the flow allows {event_bytes_max} bytes"
        raise _OverLimitError(ParkedReason.EVENT_TOO_LARGE, detail)
    if output_bytes > OUTPUT_BYTES_MAX:
        detail = f"the events have over {OUTPUT_BYTES_MAX} bytes together, which is the limit"
        raise _OverLimitError(ParkedReason.TOO_LARGE, detail)


def _widen(attempt: Attempt, millis: int) -> None:
    if attempt.first_event_ms is None or millis < attempt.first_event_ms:
        attempt.first_event_ms = millis
    if attempt.last_event_ms is None or millis > attempt.last_event_ms:
        attempt.last_event_ms = millis
