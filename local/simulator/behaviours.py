"""How devices behave: each behaviour gives the messages that a device sends, in order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.times import DAY_MS
from local.simulator import bodies
from local.simulator.device import Expected, Outgoing

_YEAR_MS: Final = 365 * DAY_MS
_KEY_BYTES: Final = 8
_CORE_DUMP_ENTRIES: Final = 80

_OCTETS: Final = "application/octet-stream"
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a behaviour depends on: chance, the time, and the number of messages."""

    random: Random
    now_ms: int
    messages: int


type Behaviour = Callable[[Circumstances], Iterator[Outgoing]]


_USUAL: Final[Mapping[str, tuple[bodies.WriteBody, str, int]]] = {
    "thermo": (bodies.thermo, _OCTETS, 10),
    "gps": (bodies.gps, _JSON, 3),
    "weather": (bodies.weather, "text/csv", 5),
    "counters": (bodies.counters, "application/x-ndjson", 10),
    "door": (bodies.door, _JSON, 2),
    "vibration": (bodies.vibration, _OCTETS, 1),
    "diagnostics": (bodies.diagnostics, _JSON, 500),
}
"""What writes a stream's bodies, their content type, and how many events they usually hold."""


def normal(stream: str) -> Behaviour:
    """Sends what its stream's parser takes; doors by the fast lane."""

    def behave(at: Circumstances) -> Iterator[Outgoing]:
        for _ in range(at.messages):
            yield _usual(stream, at)

    return behave


def herd(at: Circumstances) -> Iterator[Outgoing]:
    """Wakes up with all the others of the herd, and sends everything at once."""
    for message in normal("counters")(at):
        yield replace(message, is_herd=True)


def resends_with_key(at: Circumstances) -> Iterator[Outgoing]:
    """Does not see the first answer and sends again, with a key: it is one message."""
    for message in normal("thermo")(at):
        yield replace(message, idempotency_key=_key(at), lost_answers=1)


def resends_without_key(at: Circumstances) -> Iterator[Outgoing]:
    """Does the same without a key: to us these are two messages, of which it knows one."""
    for message in normal("gps")(at):
        yield replace(message, lost_answers=1)


def repeats_itself(at: Circumstances) -> Iterator[Outgoing]:
    """Sends each message twice, with a key, though it saw the first answer."""
    for message in normal("weather")(at):
        yield replace(message, idempotency_key=_key(at), repeats=1)


def oversize(at: Circumstances) -> Iterator[Outgoing]:
    """Dumps 300 KiB to 2 MB at once: by reference, in the bulk lane."""
    entries = at.random.randint(320, 1_900)
    body = bodies.diagnostics(at.random, at.now_ms, entries)
    yield _message("diagnostics", body, Expected(events=entries, lane=Lane.BULK))


def oversize_malformed(at: Circumstances) -> Iterator[Outgoing]:
    """Loses the end of such a dump: parked, its bytes kept in the bucket."""
    body = bodies.diagnostics(at.random, at.now_ms, 400)[:-20]
    yield _message("diagnostics", body, Expected(parked=ParkedReason.MALFORMED, lane=Lane.BULK))


def uploads(at: Circumstances) -> Iterator[Outgoing]:
    """Sends 5 MiB, more than the API takes: it goes straight to S3."""
    body = bodies.core_dump(at.random, at.now_ms, _CORE_DUMP_ENTRIES)
    expected = Expected(events=_CORE_DUMP_ENTRIES, lane=Lane.BULK)
    message = _message("diagnostics", body, expected)
    yield replace(message, is_upload=True, idempotency_key=_key(at))


def malformed(at: Circumstances) -> Iterator[Outgoing]:
    """Cuts its messages short, each of another stream."""
    for number in range(at.messages):
        stream = ("thermo", "gps", "counters", "vibration")[number % 4]
        body = _usual(stream, at).body[:-1]
        yield _message(stream, body, Expected(parked=ParkedReason.MALFORMED))


def slow_to_parse(at: Circumstances) -> Iterator[Outgoing]:
    """Sends one trace that takes too long for its lane: it is parsed in the slow lane."""
    body = bodies.vibration(at.random, at.now_ms, bodies.SLOW_PASSES)
    yield _message("vibration", body, Expected(events=1))


def endless_to_parse(at: Circumstances) -> Iterator[Outgoing]:
    """Sends one trace that takes too long for any lane: it is parked."""
    body = bodies.vibration(at.random, at.now_ms, bodies.ENDLESS_PASSES)
    yield _message("vibration", body, Expected(parked=ParkedReason.TIMEOUT))


def wrong_clock(at: Circumstances) -> Iterator[Outgoing]:
    """Believes that it is 1970, or years from now: its events are flagged and kept."""
    for number in range(at.messages):
        its_now_ms = (at.now_ms + 5 * _YEAR_MS) if number % 2 else DAY_MS
        yield _usual("thermo", replace(at, now_ms=its_now_ms))


def unknown_stream(at: Circumstances) -> Iterator[Outgoing]:
    """Sends to a stream that nobody has a flow for."""
    for _ in range(at.messages):
        yield _message("prototype-x", b"\x00hello", Expected(parked=ParkedReason.NO_FLOW))


def empty_body(at: Circumstances) -> Iterator[Outgoing]:
    """Sends an empty body: it is a message."""
    for _ in range(at.messages):
        yield _message("thermo", b"", Expected(events=0))


def late_backlog(at: Circumstances) -> Iterator[Outgoing]:
    """Was offline for three days, and states its data's end time: it goes to the bulk lane."""
    for age_days in range(at.messages + 2, 2, -1):
        then_ms = at.now_ms - age_days * DAY_MS
        message = _usual("counters", replace(at, now_ms=then_ms))
        expected = replace(message.expected, lane=Lane.BULK)
        yield replace(message, expected=expected, end_millis=then_ms)


def quarantined(at: Circumstances) -> Iterator[Outgoing]:
    """Is not trusted just now: whatever it sends goes to the bulk lane."""
    for message in normal("gps")(at):
        yield replace(message, expected=replace(message.expected, lane=Lane.BULK))


def refused(status: int) -> Behaviour:
    """Sends, and is refused with this status."""

    def behave(at: Circumstances) -> Iterator[Outgoing]:
        for message in normal("gps")(at):
            yield replace(message, expected=Expected(refused_status=status))

    return behave


def _usual(stream: str, at: Circumstances) -> Outgoing:
    write, _, events = _USUAL[stream]
    body = write(at.random, at.now_ms, events)
    is_fast = stream == "door"
    lane = Lane.FAST if is_fast else Lane.STANDARD
    message = _message(stream, body, Expected(events=events, lane=lane))
    return replace(message, is_fast=is_fast)


def _message(stream: str, body: bytes, expected: Expected) -> Outgoing:
    content_type = _USUAL[stream][1] if stream in _USUAL else _OCTETS
    return Outgoing(stream=stream, body=body, content_type=content_type, expected=expected)


def _key(at: Circumstances) -> str:
    return at.random.randbytes(_KEY_BYTES).hex()
