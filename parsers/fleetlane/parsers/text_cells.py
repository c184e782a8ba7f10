"""Text messages: their decoding, and the types of their cells."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Literal

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import BEYOND_64_BITS, INTEGER_MAX, INTEGER_MIN, repeated

CellType = Literal["int", "float", "str", "bool"]

_BYTE_ORDER_MARK = "\ufeff"  # spreadsheets write it
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def utf8_text(message: bytes) -> str:
    """Decode ``message``, without a byte order mark; raises ``MalformedMessage`` with the line."""
    try:
        return message.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line_number = message.count(b"\n", 0, error.start) + 1
        offset = error.start - message.rfind(b"\n", 0, error.start) - 1
        byte = f"byte 0x{message[error.start]:02x} at offset {offset} of the line"
        raise MalformedMessage(f"line {line_number}: {byte} is not UTF-8") from None


def _integer(cell: str) -> int | None:
    digits = cell.strip(" ")
    if not digits:
        return None
    if not _INTEGER.fullmatch(digits):
        raise ValueError(f"{cell!r:.80} is not an integer")
    number = int(digits)
    if not INTEGER_MIN <= number <= INTEGER_MAX:
        raise ValueError(f"{digits:.80} {BEYOND_64_BITS}")
    return number


def _float(cell: str) -> float | None:
    digits = cell.strip(" ")
    if not digits:
        return None
    if not _FLOAT.fullmatch(digits):
        raise ValueError(f"{cell!r:.80} is not a number")
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.80} is beyond the range of a float")
    return number


def _boolean(cell: str) -> bool | None:
    word = cell.strip(" ").lower()
    if not word:
        return None
    if word not in _BOOLEANS:
        raise ValueError(f"{cell!r:.80} is none of: {', '.join(_BOOLEANS)}")
    return _BOOLEANS[word]


type CellReader = Callable[[str], object]

_READERS: Final[Mapping[CellType, CellReader]] = {
    "int": _integer,
    "float": _float,
    "bool": _boolean,
    "str": str,
}
"""Each reads a cell, an empty one of any type but ``str`` as null, or raises ``ValueError``."""


def cell_readers(
    names: Collection[str], types: Mapping[str, CellType], place: str
) -> Mapping[str, CellReader]:
    """Find what reads each cell of a line; ``place`` is what the line has names of.

    Raises ``ValueError`` where a name is repeated, or the option ``types`` has another one.
    """
    for name in repeated(names):
        raise ValueError(f"{place} {name!r:.80} is repeated")
    for name in types:
        if name not in names:
            raise ValueError(f"no {place} {name!r:.80}, which the option types names")
    return {name: _READERS[types.get(name, "str")] for name in names}


def event_of(
    readers: Mapping[str, CellReader], cells: Iterable[str | None], line_number: int, place: str
) -> dict[str, object]:
    """Read the cells of a line, one for each name; raises ``MalformedMessage`` with both."""
    event: dict[str, object] = {}
    try:
        for (name, read), cell in zip(readers.items(), cells, strict=True):
            event[name] = None if cell is None else read(cell)
    except ValueError as error:  # of a reader, or of cells that are decoded one by one
        name = list(readers)[len(event)]
        raise MalformedMessage(f"line {line_number}, {place} {name!r:.80}: {error}") from None
    return event
