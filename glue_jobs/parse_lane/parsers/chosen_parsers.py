"""The parser for a message: its flow's rule for that device, found once. None is imported here."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, TypeGuard

from clients.flows.store import FlowsNotPublishedError, FlowsUnavailableError, FlowsUnreadableError
from fleetlane.events.envelope import Message
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.artifacts import parser_rule_for
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, FlowSet, ParserRule
from fleetlane.events.lanes import PARSE_GRACE_FACTOR, BulkCause, LaneLimits
from fleetlane.events.metadata import Deferral
from fleetlane.parsers.sandbox.runs import Assignment
from glue_jobs.parse_lane.parsers.choices import Choice, ChosenParser, NoParser
from glue_jobs.parse_lane.parsers.programs import FoundProgram, Programs

CHOICES_MAX: Final = 4096
"""How many choices are cached. Types and firmwares are few, but devices may declare anything."""

NO_FLOW_AGE_S_MAX: Final = 1.0
"""Maximum age of the flows by which a message has no flow: its own may just be published."""

EARLIER_VERSIONS_MAX: Final = 5
BACK_OFF_S: Final = 30.0
BACK_OFF_FACTOR: Final = 10
"""Back-off before an unavailable parser is loaded again: at least 30 s, or ten times as long as the
failed load took, as one may hang at import."""

_log = logging.getLogger(__name__)


class Flows(Protocol):
    """Where the current flows come from; ``CachedFlows`` is one."""

    def current(self) -> PublishedFlows: ...
    def fresh(self, *, max_age_s: float) -> PublishedFlows: ...


class _Kind(NamedTuple):
    """What the choice of a parser depends on."""

    stream: str
    device_type: str | None
    firmware: str | None
    canaries: tuple[int, ...]

    def rule_of(self, flow: Flow) -> ParserRule | None:
        if not flow.expects(self.device_type):
            return None
        kind, firmware = self.device_type, self.firmware
        return parser_rule_for(flow, device_type=kind, firmware=firmware, canaries=self.canaries)


class ChosenParsers:
    """Chooses parsers by the current flows, which it reads once a batch.

    A parser that cannot be fetched, checked or loaded leaves the one before it in use: a bad
    artifact must not park a day's data. ``of_blocking_flow``: the messages come from such a flow's
    own topic. Elsewhere none of a blocking flow is parsed, but what is replayed.
    """

    def __init__(
        self,
        *,
        flows: Flows,
        earlier: Callable[[str, str], PublishedFlows],
        programs: Programs,
        limits: LaneLimits,
        of_blocking_flow: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``earlier`` reads a version of an owner's, by their names."""
        self._flows, self._earlier, self._programs = flows, earlier, programs
        self._of_blocking_flow = of_blocking_flow
        self._limits, self._monotonic = limits, monotonic
        self._published: PublishedFlows | None = None
        self._is_batch_new = True
        self._choices: dict[_Kind, Choice] = {}
        self._logged: set[tuple[str, str]] = set()
        self._earlier_known: dict[str, PublishedFlows | None] = {}
        self._load_again_s: float | None = None

    def begin_batch(self) -> None:
        """Read the current flows before the next choice."""
        self._is_batch_new = True

    def chosen(self, message: Message) -> Choice:
        """Choose the parser for a message, once: another call may see other flows.

        Raises ``FlowsUnavailableError`` where no flows could be read yet.
        """
        flow = self.flows().get(message.stream)
        canaries = () if flow is None else flow.canaries_for(message.device_id)
        kind = _Kind(message.stream, message.device_type, message.firmware, canaries)
        choice = self._choices.get(kind) or self._remembered(kind)
        return self._misplaced(message, flow or choice.flow) or choice

    def flows(self) -> FlowSet:
        """Those in force for this batch; raises as ``chosen``."""
        return self._current().by_stream

    def _current(self) -> PublishedFlows:
        if self._is_batch_new:
            self._read_flows()
        assert self._published is not None, "the flows are read before"
        return self._published

    def _misplaced(self, message: Message, flow: Flow | None) -> NoParser | None:
        """Whether a message landed where its flow's order does not hold, as if it did not block."""
        if self._of_blocking_flow or message.bulk_cause is BulkCause.REPLAYED:
            return None
        if flow is None or not flow.blocks:
            return None
        if (flow.stream, "") not in self._logged:
            self._logged.add((flow.stream, ""))
            _log.warning("stream %s blocks: its messages here go to its own topic", flow.stream)
        problem = f"flow {flow.stream!r} blocks, and has a topic of its own"
        return NoParser(problem=problem, flow=flow, deferral=Deferral.FLOW_BLOCKS)

    def _read_flows(self) -> None:
        published, known = self._flows.current(), self._published
        is_time_again = self._load_again_s is not None and self._monotonic() >= self._load_again_s
        is_new = known is None or published.version != known.version
        if is_new:
            self._published = published
            self._logged.clear()
        if is_new or is_time_again:
            self._load_again_s = None
            self._choices.clear()
            self._earlier_known.clear()
            self._programs.forget(but=published.artifacts if is_new else None)
        self._is_batch_new = False

    def _remembered(self, kind: _Kind) -> Choice:
        if len(self._choices) >= CHOICES_MAX:
            self._choices.clear()
        flow = None
        try:
            for published in self._current_versions():
                flow = published.by_stream.get(kind.stream)
                rule = None if flow is None else kind.rule_of(flow)
                if flow is not None and rule is not None:
                    choice = self._choices[kind] = self._choice(published, flow, rule, kind)
                    return choice
        except FlowsUnavailableError as stale:  # its flow may be newer than those that are known
            return NoParser(problem=str(stale), flow=flow, deferral=Deferral.FLOW_UNAVAILABLE)
        return _no_flow(flow, kind)  # not remembered: the next may have one

    def _current_versions(self) -> Iterator[PublishedFlows]:
        yield self._current()
        yield self._flows.fresh(max_age_s=NO_FLOW_AGE_S_MAX)

    def _choice(self, flows: PublishedFlows, flow: Flow, rule: ParserRule, kind: _Kind) -> Choice:
        began_s = self._monotonic()
        found = self._programs.of_rule(flows, flow, rule)
        if _is_usable(found):
            return self._with(found, flow)
        older = self._older(flows.owners.get(flow.owner, ())[1:], flow, rule, kind)
        self._back_off(began_s)
        self._log_unusable(flow, rule, found.problem, older)
        if older is not None:
            return older
        if isinstance(found, FoundProgram):  # its messages fail in the sandbox, each with a reason
            return self._with(found, flow)
        return replace(found, flow=flow)

    def _back_off(self, began_s: float) -> None:
        now_s = self._monotonic()
        planned_s = now_s + BACK_OFF_S if self._load_again_s is None else self._load_again_s
        self._load_again_s = max(planned_s, now_s + BACK_OFF_FACTOR * (now_s - began_s))

    def _older(
        self, before: Sequence[str], current: Flow, broken: ParserRule, kind: _Kind
    ) -> Choice | None:
        """What a message would have been parsed with before, by the whole flow of that version.

        A flow that blocks is left to no version in which it did not: that would skip messages.
        """
        unavailable = None
        for version in before[:EARLIER_VERSIONS_MAX]:
            try:
                earlier = self._version(current.owner, version)
            except FlowsUnavailableError as problem:  # nor would S3 give those before it
                return NoParser(problem=str(problem), flow=current)
            flow = None if earlier is None else earlier.by_stream.get(kind.stream)
            rule = None if flow is None else kind.rule_of(flow)
            if earlier is None or flow is None or rule is None or flow.blocks < current.blocks:
                continue
            found = self._programs.of_rule(earlier, flow, rule)
            if _is_usable(found):
                return self._with(found, flow, instead_of=broken.use)
            if isinstance(found, NoParser) and found.reason is None:
                unavailable = replace(found, flow=current)
        return unavailable

    def _log_unusable(
        self, flow: Flow, rule: ParserRule, problem: str | None, older: Choice | None
    ) -> None:
        """Log it once for each parser, not for each device."""
        if (flow.stream, rule.use) in self._logged:
            return
        self._logged.add((flow.stream, rule.use))
        instead = older.assignment.parser if isinstance(older, ChosenParser) else "no earlier one"
        message = "parser %s of stream %s cannot be used (%r); used instead: %s"
        _log.error(message, rule.use, flow.stream, problem, instead)

    def _version(self, owner: str, version: str) -> PublishedFlows | None:
        if version not in self._earlier_known:
            try:
                self._earlier_known[version] = self._earlier(owner, version)
            except (FlowsNotPublishedError, FlowsUnreadableError):
                self._earlier_known[version] = None
        return self._earlier_known[version]

    def _with(
        self, found: FoundProgram, flow: Flow, *, instead_of: str | None = None
    ) -> ChosenParser:
        parse_s = min(self._limits.parse_ms_max, flow.limits.parse_ms_max or 60_000) / 1000
        growth = self._limits.growth
        return ChosenParser(
            program=found.program,
            assignment=Assignment(
                flow=flow,
                parser=found.parser,
                parse_s=parse_s * PARSE_GRACE_FACTOR,
                uncharged_share=self._limits.uncharged_share,
                growth=growth.for_buffers() if found.accepts_buffer else growth,
            ),
            accepts_buffer=found.accepts_buffer,
            instead_of=instead_of,
        )


def _is_usable(found: FoundProgram | NoParser) -> TypeGuard[FoundProgram]:
    return isinstance(found, FoundProgram) and found.problem is None


def _no_flow(flow: Flow | None, kind: _Kind) -> NoParser:
    if flow is None:
        problem = f"no flow takes stream {kind.stream!r}"
        return NoParser(problem=problem, reason=ParkedReason.NO_FLOW)
    if (flow.blocks or flow.devices.types) and not flow.expects(kind.device_type):
        problem = f"flow {flow.stream!r} expects no devices of type {kind.device_type!r}"
        return NoParser(problem=problem, flow=flow, reason=ParkedReason.UNEXPECTED_DEVICE)
    device = f"device type {kind.device_type!r} and firmware {kind.firmware!r}"
    problem = f"flow {flow.stream!r} has no parser for {device}"
    return NoParser(problem=problem, flow=flow, reason=ParkedReason.NO_FLOW)
