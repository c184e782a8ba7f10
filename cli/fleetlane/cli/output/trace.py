"""The history of a message: its hops, one screen for people, or JSON."""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from fleetlane.cli.output.record_text import fields_of
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.envelope import Message
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.metadata import Outcome, Parsed
from fleetlane.events.times import time_text
from operations.messages.trace import MessageTrace

_HEAD_BYTES: Final = 64
_LINE_BYTES: Final = 16

_MESSAGE_FIELDS: Final = (
    "device_id device_type firmware via stream lane arrival_millis body_bytes content_type"
    " body_encoding"
)
_ATTEMPT_FIELDS: Final = (
    "attempt revision lane outcome reason put_off parser instead_of events parse_us parsed_ms"
)
_PARKED_FIELDS: Final = "parked_ms reason detail parser attempt revision"


def hop_lines(trace: MessageTrace) -> Iterator[str]:
    """A line a hop in the order of the way, then each event as JSON.

    The door's time is the message's arrival, a record's is Kafka's, an attempt's the job's: three
    clocks, so no difference between them is shown.
    """
    if trace.message is not None:
        yield _hop("door", trace.message.arrival_millis, f"{trace.message.lane} lane")
    for record, _ in trace.landings:
        yield _hop("Kafka", record.timestamp_ms, str(record.position))
    for attempt in trace.attempts:
        yield _hop(attempt.outcome, attempt.parsed_ms, _parsing_text(attempt))
    for record, _ in trace.events:
        yield _hop("canonical", record.timestamp_ms, str(record.position))
    for _, event in trace.events:
        yield escaped(msgspec.json.encode(event).decode())


def _hop(name: str, time_ms: int, text: str) -> str:
    return escaped(f"{name:<10}{time_text(time_ms)}  {text}").rstrip()


def _parsing_text(attempt: Parsed) -> str:
    parser = f" by {attempt.parser}" if attempt.parser else ""
    came = f": {number_of(attempt.events, 'event')}" if attempt.outcome is Outcome.PARSED else ""
    why = attempt.reason or attempt.put_off
    return f"in the {attempt.lane} lane{parser}{came}{f': {why}' if why else ''}"


def trace_lines(
    trace: MessageTrace,
    body: bytes | None,
    problem: FleetlaneError | None,
    times: TimeOptions = EXACT,
) -> Iterator[str]:
    """One screen for people; ``problem`` is why there is no ``body``."""
    yield f"message {trace.raw_id}"
    if trace.message is not None:
        yield from _about(trace.message, times)
    yield ""
    for at_ms, _, text in sorted(_steps(trace)):
        yield f"{times.exact(at_ms)}  {escaped(text)}"
    yield ""
    yield f"outcome: {outcome_of(trace)}"
    yield from _event_lines(trace)
    if problem is not None:
        yield f"no bytes: {escaped(str(problem))}"
    elif body is not None:
        yield from _hex_lines(body)


def _about(message: Message, times: TimeOptions) -> Iterator[str]:
    device = " ".join(filter(None, (message.device_type, message.firmware)))
    via = f" via {message.via}" if message.via else ""
    yield escaped(f"device  {message.device_id}{f' ({device})' if device else ''}{via}")
    yield f"stream  {message.stream}, {message.lane} lane"
    key = "" if message.reference is None else f", in the bucket as {message.reference.key}"
    yield escaped(f"body    {number_of(message.body_bytes, 'byte')} of {message.content_type}{key}")
    yield f"arrived {times.exact(message.arrival_millis)}"


def _steps(trace: MessageTrace) -> Iterator[tuple[int, int, str]]:
    """When, in which order among equal times, and what happened."""
    for record, message in trace.landings:
        how = "landed in" if message.attempt == 1 else "lands again in"
        text = f"{how} {record.position}{_numbers(message.attempt, message.revision)}"
        yield record.timestamp_ms, 0, text
    for row in trace.received:
        yield row.received_ms, 1, "counted in fleet.received"
    for attempt in trace.attempts:
        yield attempt.parsed_ms, 2, _attempt_text(attempt)
    for parked, _ in trace.parked:
        text = f"parked in {parked.position}: {parked.reason}: {parked.detail}"
        yield parked.parked_ms, 3, text


def _attempt_text(attempt: Parsed) -> str:
    why = attempt.reason or attempt.put_off
    parser = f" by {attempt.parser}" if attempt.parser else ""
    instead = f" instead of {attempt.instead_of}" if attempt.instead_of else ""
    came = f", events: {attempt.events}" if attempt.events else ""
    return (
        f"{attempt.outcome}{f' ({why})' if why else ''}{parser}{instead} in the {attempt.lane} lane"
        f"{_numbers(attempt.attempt, attempt.revision)}{came}, {attempt.parse_us} µs"
    )


def _numbers(attempt: int, revision: int) -> str:
    return f", attempt {attempt}" + (f", revision {revision}" if revision else "")


def _event_lines(trace: MessageTrace) -> Iterator[str]:
    groups = Counter((event.revision, at.topic, event.parser) for at, event in trace.events)
    newest = max((revision for revision, _, _ in groups), default=0)
    for (revision, topic, parser), count in sorted(groups.items()):
        replaced = "" if revision == newest else f", replaced by revision {newest}"
        yield escaped(f"  {count} in {topic} by {parser}, revision {revision}{replaced}")


def _hex_lines(body: bytes) -> Iterator[str]:
    yield f"bytes: {len(body)}"
    for at in range(0, min(len(body), _HEAD_BYTES), _LINE_BYTES):
        line = body[at : at + _LINE_BYTES]
        text = "".join(
            one if one.isascii() and one.isprintable() else "." for one in line.decode("latin-1")
        )
        yield f"  {at:04x}  {line.hex(' '):<{_LINE_BYTES * 3 - 1}}  {text}"
    if len(body) > _HEAD_BYTES:
        yield f"  … {len(body) - _HEAD_BYTES} more; --bytes FILE writes them all"


def trace_json(trace: MessageTrace, body: bytes | None) -> str:
    """All of it; the body in base64, or null if it is unavailable."""
    return json.dumps(
        {
            "raw_id": trace.raw_id,
            "outcome": outcome_of(trace),
            "message": trace.message and _facts(trace.message),
            "landings": [
                {
                    "position": str(record.position),
                    "written_ms": record.timestamp_ms,
                    **fields_of(message, "attempt slow_tries revision"),
                }
                for record, message in trace.landings
            ],
            "received_ms": [one.received_ms for one in trace.received],
            "attempts": [fields_of(one, _ATTEMPT_FIELDS) for one in trace.attempts],
            "parked": [
                {"position": str(one.position), **fields_of(one, _PARKED_FIELDS)}
                for one, _ in trace.parked
            ],
            "events": [
                {
                    "id": event.id,
                    "position": str(record.position),
                    **fields_of(event, "revision parser time"),
                }
                for record, event in trace.events
            ],
            "body": None if body is None else b64encode(body).decode(),
        }
    )


def outcome_of(trace: MessageTrace) -> str:
    best = trace.best
    return "none yet" if best is None else str(best.outcome)


def _facts(message: Message) -> dict[str, Any]:
    payload = message.reference and message.reference.key
    return {**fields_of(message, _MESSAGE_FIELDS), "payload": payload}
