"""Why there is no parser for a message: it is to blame itself, or an outage is."""

from fleetlane.events.errors import FleetlaneError, ParkedReason


class NoParserError(FleetlaneError):
    """No parser can be had for a message; ``parked_reason`` says why it is parked."""

    reason = "no_parser"
    parked_reason: ParkedReason
    problem: str
    sentence = "{problem}"


class ParserUnavailableError(FleetlaneError):
    """The parser cannot be fetched now, and there is no older one. It is no fault of a message."""

    reason = "parser_unavailable"
    use: str
    problem: str
    sentence = "parser {use} cannot be had now: {problem}"
