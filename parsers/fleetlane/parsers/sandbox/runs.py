"""The sandbox's input: messages of one flow for one parser, and their limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from fleetlane.events.canonical import MessageFacts
from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import GrowthLimits
from fleetlane.events.topics import canonical_topic

USUAL_BYTES: Final = 64 << 10
USUAL_RATIO: Final = 64
"""A body inflates to so many bytes, and so many times what came, uncharged; its events likewise."""

EVENT_BYTES: Final = 512
"""What each event counts besides its own bytes: the identity that the worker adds, and that a
record costs something, however small it is."""

PART_BYTES: Final = 4 << 20
"""What was parsed is handed on once its records have this many bytes."""

_SEPARATOR = "\n"

type Body = bytes | memoryview
"""A message as its parser is given it: copied for it alone, or where it is."""


class EncodedBody(NamedTuple):
    """A body that is to be inflated first, and its place among those that come with it."""

    data: bytes
    encoding: str
    place: int


def with_encodings(
    bodies: Iterable[Body], encodings: Mapping[int, str]
) -> Iterable[Body | EncodedBody]:
    """Mark the bodies that have an encoding, by their places."""
    if not encodings:
        return bodies
    return (
        EncodedBody(bytes(body), encodings[place], place) if place in encodings else body
        for place, body in enumerate(bodies)
    )


def usual_bytes(received_bytes: int, *, messages: int = 1) -> int:
    """What messages may inflate to, and their events have, without a charge."""
    return messages * USUAL_BYTES + USUAL_RATIO * received_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a child runs: a parser with its options. Equal programs share a child.

    ``use`` is what the flow writes, ``options`` JSON with sorted keys. ``location`` is the folder
    or archive that comes first on the child's ``sys.path``: the parser's artifact. ``niceness`` is
    the child's, as ``nice`` has it.
    """

    use: str
    options: bytes
    memory_bytes_max: int
    location: str | None = None
    niceness: int = 0


class Loaded(NamedTuple):
    """What loading a program showed: a ``problem``, or how its parser takes its messages."""

    problem: str | None = None
    accepts_buffer: bool = False
    is_deferred: bool = False
    """Loading is to be tried later: its owner's loads take too long."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What all messages of a run have in common. ``parser`` is ``name@version``.

    A message is cut after ``parse_s``, its child killed after ``kill_s``; ``growth`` limits it.
    """

    flow: Flow
    parser: str
    parse_s: float
    uncharged_share: float = 0.1
    growth: GrowthLimits = GrowthLimits()

    @property
    def kill_s(self) -> float:
        return self.parse_s + max(0.1, self.parse_s / 4)

    @property
    def usual_s(self) -> float:
        """What a message may take before its flow's time budget is charged."""
        return self.parse_s * self.uncharged_share

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Of the flow's canonical records: its stream's, then those of its redirects."""
        streams = (self.flow.stream, *(one.to for one in self.flow.canonical.redirects))
        return tuple(canonical_topic(stream) for stream in streams)

    @cached_property
    def encoded(self) -> bytes:
        return msgspec.json.encode(self)


class TimeAllowance(NamedTuple):
    """What is left of a flow's budgets for some of its messages: of its time in microseconds.

    Once they have used ``budget_us`` (from the start where it is negative), each is cut after
    ``short_us``. Once what that cuts has cost ``overdraft_us`` more, the rest is not tried.
    """

    budget_us: int
    overdraft_us: int
    short_us: int
    output_bytes: int
    """For what grows beyond what is usual, as ``child.charge`` counts it."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Messages of one flow for one parser, in order: an envelope and a body each.

    ``encodings`` are those of compressed bodies, by place.
    """

    program: Program
    assignment: Assignment
    envelopes: Sequence[bytes] = field(repr=False)
    bodies: Sequence[bytes] = field(repr=False)
    encodings: Mapping[int, str] = field(default_factory=dict, repr=False)


def envelope_of(message: Message | MessageFacts) -> bytes:
    """Write what its events need of a message; its stream is in the assignment.

    Only its firmware may have a line's end in it: that comes last.
    """
    known = message.device_type, message.attributes, message.firmware
    parts = message.raw_id, message.device_id, message.arrival_millis, message.revision, *known
    return _SEPARATOR.join("" if one is None else str(one) for one in parts).encode()


def message_facts_from(envelope: bytes, *, stream: str) -> MessageFacts:
    raw_id, device_id, arrival_ms, revision, kind, attributes, firmware = envelope.decode().split(
        _SEPARATOR, 6
    )
    known = kind or None, firmware or None, attributes or None
    return MessageFacts(raw_id, device_id, stream, int(arrival_ms), int(revision), *known)
