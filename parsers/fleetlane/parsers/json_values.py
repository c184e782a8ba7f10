"""Reads JSON text strictly: what would be changed or dropped on the way is refused instead."""

import json
from collections.abc import Iterable

import orjson

from fleetlane.parsers.contract import MalformedMessage

DEPTH_MAX = 64
INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**64 - 1

_INTEGER_DIGITS_MAX = 20
_SMALLEST_DOUBTFUL_FLOAT = 2.0**63
_WHITESPACE = b" \t\r\n"


def json_value(text: bytes) -> object:
    """Read one JSON document.

    orjson keeps the last of repeated keys and turns an integer beyond 64 bits into a float, so
    its answer is checked. Only a doubtful text is read again, exactly and slowly.

    Raises:
        MalformedMessage: It is not JSON in UTF-8, is nested deeper than ``DEPTH_MAX``, repeats a
            key within an object, or holds a number that is not finite or beyond 64 bits.
    """
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MalformedMessage(_why_not_json(text, error)) from None
    doubtful_floats: list[float] = []
    keys = _keys_in(value, DEPTH_MAX, doubtful_floats)
    if doubtful_floats or keys != _keys_written_at_most(text):
        _read_exactly(text)
    return value


def kind_of(value: object) -> str:
    """Name the JSON type of ``value`` as a sentence needs it: "an object", "null"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


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


def _read_exactly(text: bytes) -> None:
    # orjson has read it all before, so it is JSON, and not nested too deeply for the stack.
    json.loads(text.decode(), object_pairs_hook=_require_distinct_keys, parse_int=_require_64_bits)


def _require_distinct_keys(pairs: Iterable[tuple[str, object]]) -> None:
    seen = set()
    for key, _ in pairs:
        if key in seen:
            raise MalformedMessage(f"key {key!r:.80} is repeated within an object")
        seen.add(key)


def _require_64_bits(digits: str) -> None:
    if len(digits) > _INTEGER_DIGITS_MAX or not INTEGER_MIN <= int(digits) <= INTEGER_MAX:
        raise MalformedMessage(
            f"integer {digits:.80} is beyond 64 bits: {INTEGER_MIN} to {INTEGER_MAX}"
        )
