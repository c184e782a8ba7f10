"""One MessagePack object a message."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgpack  # type: ignore[import-untyped]

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.json_domain import BytesAs, in_json_domain, repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class Msgpack(EventsInDocument):
    """A map is one event; an array of maps is one event each (see ``EventsInDocument``).

    What becomes of values that JSON lacks, docs/formats.md says. A length that the message is too
    short for is refused before anything is made for it.
    """

    bytes_as: BytesAs = "base64url"
    integer_keys: bool = False

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        found = _unpacked(message, integer_keys=self.integer_keys)
        yield from self.events_in(in_json_domain(found, bytes_as=self.bytes_as, foreign=_rfc3339))


def _unpacked(message: bytes, *, integer_keys: bool) -> object:
    try:
        return msgpack.unpackb(
            message,
            strict_map_key=not integer_keys,
            object_pairs_hook=_distinct,
            ext_hook=_refuse_extension,
        )
    except msgpack.ExtraData as error:
        left = len(error.extra)
        raise MalformedMessage(f"{left} bytes follow the object; allowed: none") from None
    except msgpack.StackError:
        raise MalformedMessage("nested deeper than MessagePack can be read") from None
    except msgpack.FormatError:
        raise MalformedMessage("not MessagePack: byte 0xc1 begins nothing") from None
    except ValueError as error:
        raise MalformedMessage(f"not MessagePack: {error!s:.200}") from None


def _distinct(pairs: list[tuple[object, object]]) -> dict[object, object]:
    try:
        members = dict(pairs)
    except TypeError:  # a list or dict cannot be one
        raise MalformedMessage("a key is an array or a map; allowed: text") from None
    if len(members) != len(pairs):
        key = next(repeated(key for key, _ in pairs))
        raise MalformedMessage(f"key {key!r:.80} is repeated within an object")
    return members


def _refuse_extension(extension_type: int, data: bytes) -> object:
    found = f"extension type {extension_type} of {len(data)} bytes"
    raise MalformedMessage(f"{found}; allowed: -1, a timestamp")


def _rfc3339(value: object) -> object:
    if not isinstance(value, msgpack.Timestamp):
        raise MalformedMessage(f"{value!r:.80} is no value of JSON, nor a bin or timestamp")
    try:
        second = datetime.fromtimestamp(value.seconds, UTC)
    except (ValueError, OverflowError, OSError):
        found = f"timestamp of {value.seconds} seconds"
        raise MalformedMessage(f"{found}; allowed: years 1 to 9999") from None
    fraction = f".{value.nanoseconds:09d}".rstrip("0") if value.nanoseconds else ""
    return f"{second.replace(tzinfo=None).isoformat()}{fraction}Z"
