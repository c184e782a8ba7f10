"""The parser for a message: its flow's rule for that device, found once. None is imported here."""

from dataclasses import dataclass

import orjson

from fleetlane.events.envelope import Message
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow, ParserRule
from fleetlane.events.parser_choice import parser_rule_for
from fleetlane.parsers.registry import UnknownParserError, located_parser
from fleetlane.parsers.sandbox.runs import Assignment, Program


class NoParserError(FleetlaneError):
    """No parser can be had for a message; ``parked_reason`` says why it is parked."""

    reason = "no_parser"

    def __init__(self, parked_reason: ParkedReason, problem: str) -> None:
        super().__init__(parked_reason, problem)
        self.parked_reason, self.problem = parked_reason, problem

    def __str__(self) -> str:
        return self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenParser:
    """What a message is to be parsed with, and by which rules its events are written."""

    program: Program
    assignment: Assignment


class ChosenParsers:
    """Chooses parsers. What was found is kept until other flows are published.

    ``parse_s_max`` and ``memory_bytes_max`` are the lane's; a flow may allow itself less time.
    """

    def __init__(self, *, parse_s_max: float, memory_bytes_max: int, wiggle: float) -> None:
        self._parse_s_max, self._memory_bytes_max = parse_s_max, memory_bytes_max
        self._wiggle = wiggle
        self._published: PublishedFlows | None = None
        self._found: dict[tuple[str, int], ChosenParser | NoParserError] = {}

    def chosen(self, published: PublishedFlows, message: Message) -> ChosenParser:
        """Choose the parser for a message.

        Raises:
            NoParserError: The stream has no flow, the flow no parser for this device, or that
                parser is not installed.
        """
        if published is not self._published:
            self._published = published
            self._found.clear()
        flow = published.by_stream.get(message.stream)
        if flow is None:
            problem = f"no flow takes stream {message.stream!r}"
            raise NoParserError(ParkedReason.NO_FLOW, problem)
        kind, firmware = message.device_type, message.firmware
        rule = parser_rule_for(flow, device_type=kind, firmware=firmware)
        if rule is None:
            device = f"device type {kind!r} and firmware {firmware!r}"
            problem = f"flow {flow.stream!r} has no parser for {device}"
            raise NoParserError(ParkedReason.NO_FLOW, problem)
        return self._of_rule(flow, rule)

    def _of_rule(self, flow: Flow, rule: ParserRule) -> ChosenParser:
        key = (flow.stream, id(rule))  # the published flows keep the rule alive
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._found_or_error(flow, rule)
        if isinstance(found, NoParserError):
            raise NoParserError(found.parked_reason, found.problem)
        return found

    def _found_or_error(self, flow: Flow, rule: ParserRule) -> ChosenParser | NoParserError:
        try:
            parser = located_parser(rule.use)
        except UnknownParserError as problem:
            sentence = f"{type(problem).__name__}: {problem}"
            return NoParserError(ParkedReason.PARSER_FAILED, sentence)
        parse_s = min(self._parse_s_max, (flow.limits.parse_ms_max or 60_000) / 1000)
        return ChosenParser(
            program=Program(
                use=rule.use,
                options=orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS),
                memory_bytes_max=self._memory_bytes_max,
                location=parser.location,
            ),
            assignment=Assignment(
                flow=flow, parser=parser.identifier, parse_s=parse_s * self._wiggle
            ),
        )
