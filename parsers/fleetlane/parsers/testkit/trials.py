"""Trials and their outcomes, which cross to a parser's process and back; findings from them."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec
import orjson

from fleetlane.events.flows.artifacts import parser_rule_for
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import LANE_LIMITS, PARSE_GRACE_FACTOR, Lane
from fleetlane.parsers.registry import InstalledParser
from fleetlane.parsers.sandbox.runs import Assignment, Program

DEVICE_ID: Final = "device"
ARRIVAL_MILLIS: Final = 1_762_178_709_123


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A flow's rule, as a lane would run it. ``location`` is the folder of the parser's code."""

    flow: Flow
    rule: ParserRule
    lane: Lane
    identifier: str
    location: str | None = None

    @classmethod
    def of(
        cls, flow: Flow, rule: ParserRule, parser: InstalledParser, lane: Lane | None = None
    ) -> Self:
        """A rule with its parser, in the flow's lane unless another is given."""
        identifier, location = parser.identifier, parser.location
        lane = lane or flow.lane
        return cls(flow=flow, rule=rule, lane=lane, identifier=identifier, location=location)

    @classmethod
    def bare(cls, parser: InstalledParser, lane: Lane | None = None) -> Self:
        """A parser with its default options, in a flow that says no more than its name."""
        rule = ParserRule(use=parser.use)
        flow = Flow(stream=parser.name, owner="nobody", parsers=(rule,))
        return cls.of(flow, rule, parser, lane)

    @classmethod
    def located(cls, flow: Flow, rule: ParserRule, location: str | None) -> Self:
        """A rule in its flow's lane, its parser known by what the flow writes."""
        return cls(flow=flow, rule=rule, lane=flow.lane, identifier=rule.use, location=location)

    @property
    def limit_ms(self) -> int:
        """What a message may take: the lane's limit or, where it is less, the flow's."""
        limit_ms = LANE_LIMITS[self.lane].parse_ms_max
        return min(limit_ms, self.flow.limits.parse_ms_max or limit_ms)

    @property
    def program(self) -> Program:
        return Program(
            use=self.rule.use,
            options=orjson.dumps(self.rule.options, option=orjson.OPT_SORT_KEYS),
            memory_bytes_max=LANE_LIMITS[self.lane].memory_bytes_max,
            location=self.location,
        )

    @property
    def assignment(self) -> Assignment:
        parse_s = self.limit_ms / 1000 * PARSE_GRACE_FACTOR
        return Assignment(flow=self.flow, parser=self.identifier, parse_s=parse_s)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A message to try a parser with. Of a recorded one, ``stream`` is where it was sent to."""

    body: bytes
    encoding: str | None = None
    device_id: str = DEVICE_ID
    arrival_millis: int = ARRIVAL_MILLIS
    stream: str | None = None
    device_type: str | None = None
    firmware: str | None = None

    def rule_in(self, flow: Flow) -> ParserRule | None:
        """The rule by which the flow would have it parsed."""
        canaries = flow.canaries_for(self.device_id)
        kind, firmware = self.device_type, self.firmware
        return parser_rule_for(flow, device_type=kind, firmware=firmware, canaries=canaries)


class TrialEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event, and where it would go. ``time`` is ``None`` for one without a time of its own."""

    topic: str
    key: str
    time: str | None
    time_quality: str
    data: dict[str, object]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a message. Without a ``reason`` it was parsed, to no events perhaps.

    ``detail`` is the sentence that a parked record would carry.
    """

    reason: str | None
    detail: str
    parse_us: int
    events: tuple[TrialEvent, ...] = ()

    @property
    def data(self) -> list[dict[str, object]]:
        return [event.data for event in self.events]

    @property
    def is_well_behaved(self) -> bool:
        """Whether the contract allows it for any bytes: events, or a malformed message."""
        return self.reason in (None, "malformed")

    def __str__(self) -> str:
        if self.reason is None:
            return counted_events(len(self.events))
        return f"{self.reason}: {self.detail}"


def counted_events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"


FAILURES: Final = "failures"

_HEX_SHOWN_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``check`` is the part of the contract that is broken, ``body`` the message that breaks it."""

    check: str
    sentence: str
    body: bytes

    def __str__(self) -> str:
        return f"{self.check}: {self.sentence}"


def kept(findings: Iterable[Finding], folder: Path) -> Iterator[str]:
    """Each finding's sentence, once its message's hex is in a file below ``folder``."""
    for finding in findings:
        digest = hashlib.sha256(finding.body).hexdigest()[:8]
        path = folder / FAILURES / f"{finding.check.replace(' ', '-')}-{digest}.hex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{finding.body.hex()}\n", encoding="ascii")
        yield f"{finding}\n    the message: {path}"


def shown(body: bytes) -> str:
    """A message in a sentence: its size, and how it begins."""
    beginning = body[:_HEX_SHOWN_BYTES].hex()
    more = "…" if len(body) > _HEX_SHOWN_BYTES else ""
    return f"{len(body)} bytes ({beginning}{more})" if body else "0 bytes"
