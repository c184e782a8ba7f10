"""The parser for a message: its flow's rule for that device, loaded once."""

from dataclasses import dataclass

import orjson

from fleetlane.events.envelope import Message
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow, ParserRule
from fleetlane.events.parser_choice import parser_rule_for
from fleetlane.parsers.registry import LoadedParser, load_parser


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
    """A message's flow, and the parser that the flow has for its device."""

    flow: Flow
    loaded: LoadedParser


class ChosenParsers:
    """Chooses and loads parsers; what is loaded is kept until other flows are published."""

    def __init__(self) -> None:
        self._published: PublishedFlows | None = None
        self._loaded: dict[tuple[str, bytes], LoadedParser | NoParserError] = {}

    def chosen(self, published: PublishedFlows, message: Message) -> ChosenParser:
        """Give flow and parser for a message.

        Raises:
            NoParserError: The stream has no flow, the flow no parser for this device, or that
                parser is not installed or broken.
        """
        if published is not self._published:
            self._published = published
            self._loaded.clear()
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
        return ChosenParser(flow=flow, loaded=self._load(rule))

    def _load(self, rule: ParserRule) -> LoadedParser:
        key = (rule.use, orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS))
        found = self._loaded.get(key)
        if found is None:
            found = self._loaded[key] = _loaded_or_error(rule)
        if isinstance(found, NoParserError):
            raise NoParserError(found.parked_reason, found.problem)
        return found


def _loaded_or_error(rule: ParserRule) -> LoadedParser | NoParserError:
    try:
        return load_parser(rule.use, rule.options)
    except Exception as problem:  # noqa: BLE001 - importing a parser runs code that is not ours
        sentence = f"{type(problem).__name__}: {problem}"
        return NoParserError(ParkedReason.PARSER_FAILED, sentence)
