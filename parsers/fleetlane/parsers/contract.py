"""What a parser is, and how it refuses a message."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from fleetlane.events.errors import FleetlaneError, ParkedReason


class Parser(Protocol):
    """Turns one message into events.

    A parser is pure: the same bytes give the same events, without a clock, file or network. Make
    it a frozen dataclass: its fields are the options that a flow file may set. Register it under
    the entry point group ``fleetlane.parsers``; the entry point's name is the parser's.
    """

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        """Yield the events of ``message``, in order; none is a valid answer.

        The values are JSON's: finite numbers, integers from -2**63 to 2**64 - 1, text keys. May
        yield some events before it raises: nothing of a failed message is emitted.

        Raises:
            MalformedMessage: The bytes are not what the device should send. Anything else that
                is raised counts as a failure of the parser, and the message is tried again.
        """


def accepts_buffer(parser: Parser) -> bool:
    """Whether a parser has ``accepts_buffer = True``, and is given each message where it is.

    Then ``parse`` takes a ``memoryview`` that can only be read: nothing is copied, however large it
    is. The parser must not keep it, nor a part of it.
    """
    return getattr(parser, "accepts_buffer", False) is True


class MalformedMessage(FleetlaneError):  # noqa: N818 - the message is bad, not the program
    """These bytes can never be parsed: they are parked, and the next message is parsed.

    Takes one sentence that names the value found and the value allowed.
    """

    reason = ParkedReason.MALFORMED.value
