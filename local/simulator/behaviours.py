"""How devices behave: each behaviour gives the messages that a device sends, in order."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.times import DAY_MS
from local.simulator import bodies
from local.simulator.device import Expected, Outgoing

_YEAR_MS: Final = 365 * DAY_MS
_CORE_DUMP_ENTRIES: Final = 80

_OCTETS: Final = "application/octet-stream"
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a behaviour depends on: chance, the time, and the number of messages."""

    random: Random
    now_ms: int
    messages: int

    def key(self) -> str:
        """A new idempotency key."""
        return self.random.randbytes(8).hex()


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


def normal(stream: str, *, has_key: bool = False, **differing: Any) -> Behaviour:
    """Sends what its stream's parser takes; ``differing`` are other fields of the messages."""

    def behave(at: Circumstances) -> Iterator[Outgoing]:
        for _ in range(at.messages):
            message = replace(_usual(stream, at), **differing)
            yield replace(message, idempotency_key=at.key()) if has_key else message

    return behave


def refused(status: int) -> Behaviour:
    return normal("gps", expected=Expected(refused_status=status))


def same(stream: str, body: bytes, **expected: Any) -> Behaviour:
    """Sends the same body again and again."""
    return lambda at: (_message(stream, body, **expected) for _ in range(at.messages))


def trace(passes: int, **expected: Any) -> Behaviour:
    """Sends one trace, which its parser is to smooth so often."""

    def behave(at: Circumstances) -> Iterator[Outgoing]:
        yield _message("vibration", bodies.vibration(at.random, at.now_ms, passes), **expected)

    return behave


herd: Final = normal("counters", is_herd=True)
"""Wakes up with all the others of the herd, and sends everything at once."""
resends_with_key: Final = normal("thermo", has_key=True, lost_answers=1)
"""Does not see the first answer and sends again, with a key: it is one message."""
resends_without_key: Final = normal("gps", lost_answers=1)
"""Does the same without a key: to us these are two messages, of which it knows one."""
repeats_itself: Final = normal("weather", has_key=True, repeats=1)
"""Sends each message twice, with a key, though it saw the first answer."""
quarantined: Final = normal("gps", expected=Expected(events=_USUAL["gps"][2], lane=Lane.BULK))
"""Is not trusted just now: whatever it sends goes to the bulk lane."""
unknown_stream: Final = same("prototype-x", b"\x00hello", parked=ParkedReason.NO_FLOW)
"""Sends to a stream that nobody has a flow for."""
empty_body: Final = same("thermo", b"", events=0)
"""Sends an empty body: it is a message."""
slow_to_parse: Final = trace(bodies.SLOW_PASSES, events=1)
"""Takes too long for its lane: it is parsed in the slow lane."""
endless_to_parse: Final = trace(bodies.ENDLESS_PASSES, parked=ParkedReason.TIMEOUT)
"""Takes too long for any lane: it is parked."""


def oversize(at: Circumstances) -> Iterator[Outgoing]:
    """Dumps 300 KiB to 2 MB at once: by reference, in the bulk lane."""
    entries = at.random.randint(320, 1_900)
    body = bodies.diagnostics(at.random, at.now_ms, entries)
    yield _message("diagnostics", body, events=entries, lane=Lane.BULK)


def oversize_malformed(at: Circumstances) -> Iterator[Outgoing]:
    """Loses the end of such a dump: parked, its bytes kept in the bucket."""
    body = bodies.diagnostics(at.random, at.now_ms, 400)[:-20]
    yield _message("diagnostics", body, parked=ParkedReason.MALFORMED, lane=Lane.BULK)


def uploads(at: Circumstances) -> Iterator[Outgoing]:
    """Sends 5 MiB, more than the API takes: it goes straight to S3."""
    body = bodies.core_dump(at.random, at.now_ms, _CORE_DUMP_ENTRIES)
    message = _message("diagnostics", body, events=_CORE_DUMP_ENTRIES, lane=Lane.BULK)
    yield replace(message, is_upload=True, idempotency_key=at.key())


def malformed(at: Circumstances) -> Iterator[Outgoing]:
    """Cuts its messages short, each of another stream."""
    for number in range(at.messages):
        stream = ("thermo", "gps", "counters", "vibration")[number % 4]
        yield _message(stream, _usual(stream, at).body[:-1], parked=ParkedReason.MALFORMED)


def wrong_clock(at: Circumstances) -> Iterator[Outgoing]:
    """Believes that it is 1970, or years from now: its events are flagged and kept."""
    for number in range(at.messages):
        its_now_ms = (at.now_ms + 5 * _YEAR_MS) if number % 2 else DAY_MS
        yield _usual("thermo", replace(at, now_ms=its_now_ms))


def late_backlog(at: Circumstances) -> Iterator[Outgoing]:
    """Was offline for three days, and states its data's end time: it goes to the bulk lane."""
    for age_days in range(at.messages + 2, 2, -1):
        then_ms = at.now_ms - age_days * DAY_MS
        message = _usual("counters", replace(at, now_ms=then_ms))
        expected = replace(message.expected, lane=Lane.BULK)
        yield replace(message, expected=expected, end_millis=then_ms)


def _usual(stream: str, at: Circumstances) -> Outgoing:
    """A message of so many events as is usual; of doors, by the fast lane."""
    write, _, events = _USUAL[stream]
    is_fast = stream == "door"
    lane = Lane.FAST if is_fast else Lane.STANDARD
    message = _message(stream, write(at.random, at.now_ms, events), events=events, lane=lane)
    return replace(message, is_fast=is_fast)


def _message(stream: str, body: bytes, **expected: Any) -> Outgoing:
    kind = _USUAL[stream][1] if stream in _USUAL else _OCTETS
    return Outgoing(stream=stream, body=body, content_type=kind, expected=Expected(**expected))
