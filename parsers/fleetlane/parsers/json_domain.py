"""JSON's values: read from text, or what a binary format holds brought into them or refused."""

import json
import math
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import NoneType
from typing import Final, Literal

import orjson

from fleetlane.parsers.contract import MalformedMessage

DEPTH_MAX = 64
INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**64 - 1
BEYOND_64_BITS: Final = f"is beyond 64 bits: {INTEGER_MIN} to {INTEGER_MAX}"

_INTEGER_DIGITS_MAX = 20
_SMALLEST_DOUBTFUL_FLOAT = 2.0**63
_WHITESPACE = b" \t\r\n"
_KINDS: Final[Mapping[type, str]] = {
    NoneType: "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
}


def json_value(text: bytes) -> object:
    """Read one JSON document.

    orjson keeps the last of repeated keys and turns an integer beyond 64 bits into a float, so
    its answer is checked. Only a doubtful text is read again, exactly and slowly.

    Raises ``MalformedMessage`` where it is not JSON in UTF-8, is nested deeper than ``DEPTH_MAX``,
    repeats a key within an object, or holds a number that is not finite or beyond 64 bits.
    """
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MalformedMessage(_why_not_json(text, error)) from None
    doubtful_floats: list[float] = []
    keys = _keys_in(value, DEPTH_MAX, doubtful_floats)
    if doubtful_floats or keys != _keys_written_at_most(text):
        # orjson has read it all before, so it is JSON, and not nested too deeply for the stack.
        json.loads(text.decode(), object_pairs_hook=_require_distinct, parse_int=_require_64_bits)
    return value


def kind_of(value: object) -> str:
    """Name the JSON type of ``value`` as a sentence needs it: "an object", "null"."""
    return _KINDS.get(type(value), "an object")


def _why_not_json(text: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as bad:
        return f"not UTF-8: byte 0x{text[bad.start]:02x} at offset {bad.start}"
    return f"not JSON: {error.msg}, at character {error.pos} of {len(error.doc)}"


def _keys_in(value: object, levels_left: int, doubtful_floats: list[float]) -> int:
    """Count the keys inside ``value``; collect the floats that may have been integers."""
    keys = 0
    members: Iterable[object] = (value,)
    if type(value) is dict:
        keys = len(value)
        members = value.values()
    elif type(value) is list:
        members = value
    for member in members:
        kind = type(member)
        if type(member) is float:
            if not -_SMALLEST_DOUBTFUL_FLOAT < member < _SMALLEST_DOUBTFUL_FLOAT:
                doubtful_floats.append(member)
        elif kind is dict or kind is list:
            if levels_left == 1:
                raise MalformedMessage(f"nested deeper than {DEPTH_MAX} levels")
            keys += _keys_in(member, levels_left - 1, doubtful_floats)
    return keys


def _keys_written_at_most(text: bytes) -> int:
    """Count what may be a key: without white space, each ends in a quote and a colon.

    A string may hold the same two characters, so this can be more than the keys, never less.
    """
    return text.translate(None, _WHITESPACE).count(b'":')


def _require_distinct(pairs: Iterable[tuple[str, object]]) -> None:
    for key in repeated(key for key, _ in pairs):
        raise MalformedMessage(f"key {key!r:.80} is repeated within an object")


def repeated[T: Hashable](values: Iterable[T]) -> Iterator[T]:
    """Yield each value that was there before."""
    seen = set[T]()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)


def _require_64_bits(digits: str) -> None:
    if len(digits) > _INTEGER_DIGITS_MAX or not INTEGER_MIN <= int(digits) <= INTEGER_MAX:
        raise MalformedMessage(f"integer {digits:.80} {BEYOND_64_BITS}")


BytesAs = Literal["base64url", "base64", "hex"]
"""How a byte string is written as text; ``base64url`` is without padding."""

type ForeignReader = Callable[[object], object]
"""Returns a value of JSON for another one, or raises ``MalformedMessage``."""

VALUES_MAX: Final = 1_000_000
"""In one document: elements of arrays and members of objects, at every depth."""

_PLAIN: Final = frozenset({str, bool, NoneType})


class Bounds:
    """How deep in one document a reader is, and how many values may still come."""

    __slots__ = ("_levels_left", "_values_left")

    def __init__(self) -> None:
        self.begin_document()

    def begin_document(self) -> None:
        self._levels_left, self._values_left = DEPTH_MAX, VALUES_MAX

    def enter(self, values: int) -> None:
        """Go into an object or array of so many values; ``leave`` it at its end."""
        self._levels_left -= 1
        if self._levels_left < 0:
            raise self.malformed(f"nested deeper than {DEPTH_MAX} levels")
        self.claim(values)

    def leave(self) -> None:
        self._levels_left += 1

    def claim(self, values: int) -> None:
        """Count values that are about to be read: some have no bytes of their own."""
        self._values_left -= values
        if self._values_left < 0:
            raise self.malformed(f"more than {VALUES_MAX} values in one document")

    def finite(self, number: float) -> float:
        if not math.isfinite(number):
            raise self.malformed(f"a number is {number}; numbers are finite")
        return number

    def malformed(self, problem: str) -> MalformedMessage:
        return MalformedMessage(problem)


def in_json_domain(value: object, *, bytes_as: BytesAs, foreign: ForeignReader) -> object:
    """Return ``value`` in JSON's values: byte strings as text, integer keys in decimal.

    What is neither JSON's nor a byte string goes through ``foreign``.

    Raises ``MalformedMessage`` where a number is not finite or beyond 64 bits; a key is neither
    text nor an integer, or two keys become one; or there are more than ``DEPTH_MAX`` levels or
    ``VALUES_MAX`` values.
    """
    return _Conversion(BYTES_WRITERS[bytes_as], foreign).value(value)


def integer_of_64_bits(number: int) -> int:
    """Return ``number``; raises ``MalformedMessage`` where it has over 64 bits, signed or not."""
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise MalformedMessage(f"integer {number} {BEYOND_64_BITS}")
    return number


BYTES_WRITERS: Final[Mapping[BytesAs, Callable[[bytes], str]]] = {
    "base64url": lambda octets: urlsafe_b64encode(octets).rstrip(b"=").decode(),
    "base64": lambda octets: b64encode(octets).decode(),
    "hex": bytes.hex,
}


class _Conversion(Bounds):
    def __init__(self, written: Callable[[bytes], str], foreign: ForeignReader) -> None:
        super().__init__()
        self._written, self._foreign = written, foreign

    def value(self, value: object) -> object:
        if type(value) in _PLAIN:
            return value
        if type(value) is int:
            return integer_of_64_bits(value)
        if type(value) is float:
            return self.finite(value)
        if type(value) is dict:
            return self._object(value)
        if type(value) is list:
            return self._array(value)
        return self._written(value) if isinstance(value, bytes) else self._foreign(value)

    def _array(self, values: list[object]) -> list[object]:
        self.enter(len(values))
        convert = self.value
        converted = [value if type(value) in _PLAIN else convert(value) for value in values]
        self.leave()
        return converted

    def _object(self, members: dict[object, object]) -> dict[str, object]:
        self.enter(len(members))
        convert = self.value
        converted = {
            key if type(key) is str else _key(key): value
            if type(value) in _PLAIN
            else convert(value)
            for key, value in members.items()
        }
        self.leave()
        if len(converted) != len(members):
            raise MalformedMessage("a key is repeated within an object: as text, and as an integer")
        return converted


def _key(key: object) -> str:
    if type(key) is not int:
        raise MalformedMessage(f"key {key!r:.80} is neither text nor an integer")
    return str(integer_of_64_bits(key))
