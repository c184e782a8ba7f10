"""Trials and their outcomes: all that crosses to a parser's process and back."""

from typing import Final

import msgspec
import orjson

from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import LANE_LIMITS, PARSE_GRACE_FACTOR, Lane
from fleetlane.parsers.sandbox.runs import Assignment, Program

DEVICE_ID: Final = "device"
ARRIVAL_MILLIS: Final = 1_762_178_709_123

_OPTIONS_FORM: Final = orjson.OPT_SORT_KEYS


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A flow's rule, as a lane would run it. ``location`` is the folder of the parser's code."""

    flow: Flow
    rule: ParserRule
    lane: Lane
    identifier: str
    location: str | None = None

    @property
    def limit_ms(self) -> int:
        """What a message may take: the lane's limit or, where it is less, the flow's."""
        limit_ms = LANE_LIMITS[self.lane].parse_ms_max
        return min(limit_ms, self.flow.limits.parse_ms_max or limit_ms)

    @property
    def program(self) -> Program:
        return Program(
            use=self.rule.use,
            options=orjson.dumps(self.rule.options, option=_OPTIONS_FORM),
            memory_bytes_max=LANE_LIMITS[self.lane].memory_bytes_max,
            location=self.location,
        )

    @property
    def assignment(self) -> Assignment:
        parse_s = self.limit_ms / 1000 * PARSE_GRACE_FACTOR
        return Assignment(flow=self.flow, parser=self.identifier, parse_s=parse_s)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A message to try a parser with."""

    body: bytes
    device_id: str = DEVICE_ID
    arrival_millis: int = ARRIVAL_MILLIS


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
        """What the parser yielded."""
        return [event.data for event in self.events]

    @property
    def is_well_behaved(self) -> bool:
        """Whether the contract allows it for any bytes: events, or a malformed message."""
        return self.reason in (None, "malformed")


def counted_events(count: int) -> str:
    """A number of events, in a sentence."""
    return "1 event" if count == 1 else f"{count} events"
