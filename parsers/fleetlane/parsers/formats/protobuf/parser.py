"""Messages of one type: one alone, or many, each after its length."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.formats.protobuf.descriptors import message_types
from fleetlane.parsers.formats.protobuf.values import message_writer
from fleetlane.parsers.json_domain import BYTES_WRITERS, BytesAs

_LENGTH_BYTES_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Protobuf(EventsInDocument):
    """Each message is a document: one event, or where ``events_at`` says.

    ``descriptor_set`` is in base64, or ``package:file``: a flow's options travel to the jobs as
    they are. docs/formats.md has options, values and limits.
    """

    descriptor_set: str
    message: str
    framing: Literal["single", "delimited"] = "single"
    bytes_as: BytesAs = "base64url"
    _document: Callable[[bytes], object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        EventsInDocument.__post_init__(self)
        types = message_types(self.descriptor_set)
        document = message_writer(types, self.message, BYTES_WRITERS[self.bytes_as])
        object.__setattr__(self, "_document", document)

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        if self.framing == "single":
            yield from self.events_in(self._document(message))
            return
        for number, part in enumerate(_delimited(message), start=1):
            try:
                document = self._document(part)
            except MalformedMessage as error:
                raise MalformedMessage(f"message {number}: {error}") from None
            yield from self.events_in(document)


def _delimited(message: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(message):
        length, start = _length(message, at)
        at = start + length
        if at > len(message):
            announced = f"a message of {length} bytes is announced at byte {start}"
            raise MalformedMessage(f"{announced}; {len(message) - start} are left")
        yield message[start:at]


def _length(message: bytes, start: int) -> tuple[int, int]:
    """Read the varint at ``start``; tell where it ends, too."""
    octets = message[start : start + _LENGTH_BYTES_MAX]
    length = 0
    for position, byte in enumerate(octets):
        length |= (byte & 0x7F) << 7 * position
        if not byte & 0x80:
            return length, start + position + 1
    raise MalformedMessage(f"a length does not end in the {len(octets)} bytes from byte {start}")
