"""Flows: take this stream, parse it with this, put it there: a TOML file each (docs/flows.md)."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final, Literal

import msgspec
import orjson
from msgspec import Meta, field
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from fleetlane.events import topics
from fleetlane.events.attributes import ATTRIBUTE_PATTERN, ATTRIBUTES_MAX, RESERVED
from fleetlane.events.lanes import DECLARED_LANES, BulkCause, Lane
from fleetlane.events.names import NAME_PATTERN

type Name = Annotated[str, Meta(pattern=rf"^{NAME_PATTERN}\Z")]
type FieldName = Annotated[str, Meta(min_length=1, max_length=200)]
type AttributeName = Annotated[str, Meta(pattern=rf"^{ATTRIBUTE_PATTERN}\Z")]
type Seconds = Annotated[int, Meta(ge=1, le=4_000_000_000)]

EVENT_BYTES_MAX: Final = 900_000
EVENTS_MAX: Final = 100_000


class _Table(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A table of a flow file.

    An unknown field is refused in a file (``flow_files``), and ignored in what is published: an
    older job must be able to read what a newer platform wrote.
    """


class TimeUnit(StrEnum):
    """How an event's time is written."""

    MILLISECONDS = "ms"
    SECONDS = "s"
    RFC3339 = "rfc3339"


class EventTimeRule(_Table, frozen=True, kw_only=True):
    """Which field of an event holds its time, and beyond which age and lead it is flagged."""

    field: FieldName
    unit: TimeUnit
    future_after_s: Seconds = 3_600
    ancient_after_s: Seconds = 400 * 86_400

    @cached_property
    def path(self) -> tuple[str, ...]:
        return tuple(self.field.split("."))


class ParserRule(_Table, frozen=True, kw_only=True):
    """One of a flow's parsers, and the devices it is for. The first rule that fits is used.

    With a ``share`` it is a canary, for so many of those devices (``canaries_for``).
    """

    use: Annotated[str, Meta(max_length=150, pattern=rf"^{NAME_PATTERN}(==[0-9A-Za-z.+!_-]+)?\Z")]
    firmware: Annotated[str, Meta(max_length=200)] | None = None
    device_types: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None
    share: Annotated[float, Meta(ge=0.01, le=0.99)] | None = None
    options: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            SpecifierSet(self.firmware or "")
        except InvalidSpecifier:
            problem = f"`firmware` {self.firmware!r} is no range like >=2,<3 (PEP 440)"
            raise ValueError(problem) from None
        try:
            written = orjson.dumps(self.options)  # as jobs hand them to a parser
        except orjson.JSONEncodeError as problem:
            raise ValueError(f"`options` cannot be written as JSON: {problem}") from None
        if orjson.loads(written) != self.options:
            raise ValueError("`options` hold what JSON does not: a date or time, nan, inf")

    def takes(self, device_id: str) -> bool:
        """Whether a device is in the share: its hash, in hexadecimal, is below ``share_end``."""
        return hashlib.sha256(f"{self.use} {device_id}".encode()).hexdigest() < self.share_end

    @cached_property
    def share_end(self) -> str:
        return f"{round((self.share or 0) * 2**32):08x}"


class FlowLimits(_Table, frozen=True, kw_only=True):
    """What one message of this flow may cost; ``None`` is the lane's own limit."""

    parse_ms_max: Annotated[int, Meta(ge=1, le=60_000)] | None = None
    events_max: Annotated[int, Meta(ge=1, le=EVENTS_MAX)] = EVENTS_MAX
    event_bytes_max: Annotated[int, Meta(ge=1, le=EVENT_BYTES_MAX)] = EVENT_BYTES_MAX
    days_max: Annotated[int, Meta(ge=1, le=100)] = 8


class Redirect(_Table, frozen=True, kw_only=True):
    """Events in which field ``when`` equals ``equals`` go to stream ``to``'s canonical topic."""

    when: FieldName
    equals: str | int | bool
    to: Name


class CanonicalRule(_Table, frozen=True, kw_only=True):
    """How a flow's canonical events are keyed, and which of them go elsewhere."""

    key: topics.CanonicalKey = topics.CanonicalKey.DEVICE_HOUR
    redirects: Annotated[tuple[Redirect, ...], Meta(max_length=255)] = ()


class IdentityRule(_Table, frozen=True, kw_only=True):
    """What makes two events the same one. ``fields`` belong to ``by = "fields"`` alone."""

    by: Literal["message", "fields", "content"] = "message"
    fields: Annotated[tuple[FieldName, ...], Meta(max_length=32)] = ()  # read of each event

    def __post_init__(self) -> None:
        if (self.by == "fields") is not bool(self.fields):
            raise ValueError('`fields` and `by = "fields"` go together')


class UploadRule(_Table, frozen=True, kw_only=True):
    """What a device is answered when it sends; ``smear_s`` is the window of its next uploads."""

    smear_s: Annotated[int, Meta(ge=0, le=86_400)] = 0
    repeats: Literal["land", "answer"] = "land"
    remember_s: Annotated[int, Meta(ge=60, le=604_800)] = 86_400


class DevicesRule(_Table, frozen=True, kw_only=True):
    """What is expected of each device of a flow. ``None``: the platform's own limit, any type.

    Bodies by reference are not counted. What a device of another type sends stops no flow.
    """

    messages_per_minute_max: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    bytes_per_minute_max: Annotated[int, Meta(ge=1, le=1 << 40)] | None = None
    types: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None


class ObjectiveRule(_Table, frozen=True, kw_only=True):
    """How soon after its arrival a ``share`` of messages is to be canonical, and in the lake."""

    canonical_s: Annotated[int, Meta(ge=1, le=86_400)] | None = None
    lake_s: Annotated[int, Meta(ge=1, le=604_800)] | None = None
    share: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.99

    def __post_init__(self) -> None:
        if not self.limits_ms:
            raise ValueError("`objective` needs `canonical_s` or `lake_s`")

    @property
    def limits_ms(self) -> Mapping[str, int]:
        """By what is to be reached: ``canonical``, ``lake``."""
        limits_s = {"canonical": self.canonical_s, "lake": self.lake_s}
        return {name: 1_000 * most for name, most in limits_s.items() if most is not None}


class DedupeRule(_Table, frozen=True, kw_only=True):
    """Canonical events go to ``unique.<stream>`` besides, without repeats of the last ``window_s``.

    Twenty bytes of each event are held for so long: hence the limit.
    """

    window_s: Annotated[int, Meta(ge=60, le=86_400)] = 600


class Flow(_Table, frozen=True, kw_only=True):
    """A flow file. Everything but stream, owner and parsers has a default.

    ``schema`` describes its events (``event_schema``). A flow file names the JSON file beside it.
    """

    stream: Name
    owner: Annotated[str, Meta(min_length=1, max_length=100)]
    parsers: Annotated[tuple[ParserRule, ...], Meta(min_length=1, max_length=100)]
    event_time: EventTimeRule | None = None
    lane: Lane = Lane.STANDARD
    topic: topics.RawStrategy = topics.RawStrategy.LANE
    oversize: Literal["slow", "truncate"] = "slow"
    on_failure: Literal["park", "block"] = "park"
    dedupe_by_content: bool = False
    attributes: Annotated[tuple[AttributeName, ...], Meta(max_length=ATTRIBUTES_MAX)] = ()
    identity: IdentityRule = field(default_factory=IdentityRule)
    canonical: CanonicalRule = field(default_factory=CanonicalRule)
    limits: FlowLimits = field(default_factory=FlowLimits)
    upload: UploadRule = field(default_factory=UploadRule)
    devices: DevicesRule = field(default_factory=DevicesRule)
    dedupe: DedupeRule | None = None
    objective: ObjectiveRule | None = None
    schema: dict[str, object] | None = None

    def __post_init__(self) -> None:
        if self.lane not in DECLARED_LANES:
            raise ValueError(f'lane = "{self.lane}" is for what is large or late: no choice')
        if reserved := RESERVED & {*self.attributes}:
            raise ValueError(f"`attributes` {', '.join(sorted(reserved))}: events have their own")
        if self.identity.by == "content" and self.event_time is None:
            raise ValueError('identity by = "content" needs [event_time]')
        if self.blocks and self.topic is not topics.RawStrategy.STREAM:
            raise ValueError(
                'on_failure = "block" needs topic = "stream": who waits must hold up nobody else'
            )
        if self.dedupe and self.objective and self.objective.lake_s:
            raise ValueError(
                "`objective.lake_s` and [dedupe]: which of its messages the lake lacks as repeats"
                " is not known"
            )
        if self.devices.types is not None and not self.device_types <= {*self.devices.types}:
            missing = ", ".join(sorted(self.device_types - {*self.devices.types}))
            raise ValueError(f"`devices.types` lacks {missing}, and a parser is for it")

    @property
    def blocks(self) -> bool:
        """Whether a message that cannot be parsed stops its flow until somebody answers."""
        return self.on_failure == "block"

    def expects(self, device_type: str | None) -> bool:
        """Whether such a device is bound to this flow; where every rule names types, by those."""
        types: Collection[object] | None = self.devices.types
        if types is None and all(rule.device_types for rule in self.parsers):
            types = self.device_types
        return types is None or device_type in types

    @cached_property
    def device_types(self) -> frozenset[str]:
        """The device types that this flow names: with ``topic = "device_type"``, theirs alone."""
        return frozenset(kind for rule in self.parsers for kind in rule.device_types or ())

    def canaries_for(self, device_id: str) -> tuple[int, ...]:
        """The places of the rules whose share a device is in, by a hash of its id and the parser.

        A share that grows keeps its devices; a newer version gets others.
        """
        if not self.has_canaries:
            return ()
        return tuple(
            n for n, rule in enumerate(self.parsers) if rule.share and rule.takes(device_id)
        )

    @cached_property
    def has_canaries(self) -> bool:
        return any(rule.share is not None for rule in self.parsers)

    def raw_topic(
        self, lane: Lane, *, device_type: str | None, cause: BulkCause | None = None
    ) -> str:
        """Name the topic that this flow's messages land in; in the bulk lane by their ``cause``.

        A device of a type that the flow does not name lands in its lane's shared topic: there is
        no other that is sure to exist.
        """
        if self.blocks:
            return str(topics.RawTopic(lane=lane, blocking_stream=self.stream))
        kind = device_type if device_type in self.device_types else None
        return topics.raw_topic(lane, self.topic, stream=self.stream, device_type=kind, cause=cause)


type FlowSet = Mapping[str, Flow]
"""All flows of a platform, by stream."""


def topics_of(flows: Iterable[Flow]) -> tuple[str, ...]:
    """All topics that a platform with these flows needs, sorted."""
    needed = {*topics.platform_topics()}
    for flow in flows:
        streams = (flow.stream, *(redirect.to for redirect in flow.canonical.redirects))
        needed.update(map(topics.canonical_topic, streams))
        if flow.dedupe is not None:
            needed.add(topics.unique_topic(flow.stream))
        lanes = [lane for lane in Lane if flow.blocks or lane in DECLARED_LANES]
        for kind in (None, *flow.device_types):
            needed.update(flow.raw_topic(lane, device_type=kind) for lane in lanes)
    return tuple(sorted(needed))
