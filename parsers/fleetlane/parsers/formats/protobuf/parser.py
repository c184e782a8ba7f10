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

    A flow's options travel to the jobs as they are, so the descriptor set is in the flow file,
    or comes in a package that is installed beside the job. It is what
    ``protoc --include_imports --descriptor_set_out=acme.binpb acme.proto`` writes::

        [[parsers]]
        use = "protobuf"

        [parsers.options]
        descriptor_set = "acme_sensors:schemas/acme.binpb"
        message = "acme.v1.Batch"
        events_at = "readings"

    Names are those of the ``.proto`` file. A field that has no presence is always there; one that
    has it (``optional``, a message, a part of a ``oneof``) only where it was sent. An enumeration
    becomes its value's name, or a number that has none. Bytes become text as ``bytes_as`` says, a
    map's keys text; ``Timestamp``, ``Duration``, ``FieldMask``, ``Struct``, ``Value``,
    ``ListValue`` and the wrappers what Protobuf's JSON mapping makes of them, but for integers,
    which stay numbers. ``Any`` is not opened. Unknown fields and extensions are skipped.

    A repeated key of a map, a number that is not finite and text that is not UTF-8 are malformed.
    A message has at most 64 levels and 1,000,000 values.

    Attributes:
        descriptor_set: In base64, or ``package:file``.
        message: The full name of the message type.
        framing: ``delimited`` is each message after its length, a varint.
        bytes_as: How bytes become text; ``base64url`` is without padding.
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
            raise MalformedMessage(
                f"a message of {length} bytes is announced at byte {start}; {len(message) - start}"
                " are left"
            )
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
