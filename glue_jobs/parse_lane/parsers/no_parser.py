"""Why there is no parser for a message: it is to blame itself, or an outage is."""

from fleetlane.events.errors import FleetlaneError, ParkedReason


class NoParserError(FleetlaneError):
    """No parser can be had for a message; ``parked_reason`` says why it is parked."""

    reason = "no_parser"

    def __init__(self, parked_reason: ParkedReason, problem: str) -> None:
        super().__init__(parked_reason, problem)
        self.parked_reason, self.problem = parked_reason, problem

    def __str__(self) -> str:
        return self.problem


class ParserUnavailableError(FleetlaneError):
    """The parser cannot be fetched now, and there is no older one. It is no fault of a message."""

    reason = "parser_unavailable"

    def __init__(self, use: str, problem: str) -> None:
        super().__init__(use, problem)
        self.use, self.problem = use, problem

    def __str__(self) -> str:
        return f"parser {self.use} cannot be had now: {self.problem}"
