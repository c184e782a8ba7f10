"""Brings what a binary format holds into JSON's values, or refuses it."""

import math
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Final, Literal

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_values import DEPTH_MAX, INTEGER_MAX, INTEGER_MIN

BytesAs = Literal["base64url", "base64", "hex"]
"""How a byte string is written as text; ``base64url`` is without padding."""

VALUES_MAX: Final = 1_000_000
"""In one document: elements of arrays and members of objects, at every depth."""

_PLAIN: Final = frozenset({str, bool, NoneType})


def in_json_domain(
    value: object, *, bytes_as: BytesAs, foreign: Callable[[object], object]
) -> object:
    """Return ``value`` in JSON's values: byte strings as text, integer keys in decimal.

    What is neither JSON's nor a byte string goes through ``foreign``, which returns a value of
    JSON or raises ``MalformedMessage``.

    Raises:
        MalformedMessage: A number is not finite or beyond 64 bits; a key is neither text nor an
            integer, or two keys become one; or there are more than ``DEPTH_MAX`` levels or
            ``VALUES_MAX`` values.
    """
    return _Conversion(BYTES_WRITERS[bytes_as], foreign, VALUES_MAX).value(value, DEPTH_MAX)


def integer_of_64_bits(number: int) -> int:
    """Return ``number``.

    Raises:
        MalformedMessage: It is beyond 64 bits, signed or unsigned.
    """
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise MalformedMessage(
            f"integer {number} is beyond 64 bits: {INTEGER_MIN} to {INTEGER_MAX}"
        )
    return number


def _base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def _base64(octets: bytes) -> str:
    return b64encode(octets).decode()


BYTES_WRITERS: Final[Mapping[BytesAs, Callable[[bytes], str]]] = {
    "base64url": _base64url,
    "base64": _base64,
    "hex": bytes.hex,
}


@dataclass(slots=True)
class _Conversion:
    written: Callable[[bytes], str]
    foreign: Callable[[object], object]
    values_left: int

    def value(self, value: object, levels_left: int) -> object:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if type(value) is int:
            return integer_of_64_bits(value)
        if type(value) is float:
            return _finite(value)
        if type(value) is dict:
            self._count(len(value), levels_left)
            return self._object(value, levels_left - 1)
        if type(value) is list:
            self._count(len(value), levels_left)
            return self._array(value, levels_left - 1)
        return self.written(value) if isinstance(value, bytes) else self.foreign(value)

    def _array(self, values: list[object], levels_left: int) -> list[object]:
        convert = self.value
        return [value if type(value) in _PLAIN else convert(value, levels_left) for value in values]

    def _object(self, members: dict[object, object], levels_left: int) -> dict[str, object]:
        convert = self.value
        converted = {
            key if type(key) is str else _key(key): value
            if type(value) in _PLAIN
            else convert(value, levels_left)
            for key, value in members.items()
        }
        if len(converted) != len(members):
            raise MalformedMessage("a key is repeated within an object: as text, and as an integer")
        return converted

    def _count(self, values: int, levels_left: int) -> None:
        if not levels_left:
            raise MalformedMessage(f"nested deeper than {DEPTH_MAX} levels")
        self.values_left -= values
        if self.values_left < 0:
            raise MalformedMessage(f"more than {VALUES_MAX} values in the document")


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise MalformedMessage(f"number {number} is not finite")
    return number


def _key(key: object) -> str:
    if type(key) is not int:
        raise MalformedMessage(f"key {key!r:.80} is neither text nor an integer")
    return str(integer_of_64_bits(key))
