"""A layout, compiled once to what reads it fast."""

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.binary.fields import NUMBER_CODES, BitField, Conversion, Field

type Convert = Callable[[Any], object]
"""From what ``struct`` found to a JSON value."""

_DIVISOR_MAX = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Reads fields one after another, which have ``size_bytes`` together.

    ``runs`` are each offset at which the byte order changes, and the struct from there on;
    ``checks`` the position, among the values, of each constant, with what it must be; ``outputs``
    what an event gets: a name, the position of a value, and what it is turned into.
    """

    size_bytes: int
    runs: tuple[tuple[int, struct.Struct], ...]
    checks: tuple[tuple[str, int, object], ...]
    outputs: tuple[tuple[str, int, Convert | None], ...]

    def values_at_start(self, message: bytes, start: int = 0) -> tuple[Any, ...]:
        values: tuple[Any, ...] = ()
        for offset, run in self.runs:
            values += run.unpack_from(message, start + offset)
        return values

    def rows(self, message: bytes, start: int) -> Iterator[tuple[Any, ...]]:
        """Yield the values of one record after another, from ``start`` to the end."""
        if len(self.runs) == 1:
            return self.runs[0][1].iter_unpack(memoryview(message)[start:])
        starts = range(start, len(message), self.size_bytes)
        return (self.values_at_start(message, at) for at in starts)

    def event(self, values: Sequence[Any]) -> dict[str, object]:
        for label, position, wanted in self.checks:
            if values[position] != wanted:
                found = _shown(values[position])
                raise MalformedMessage(f"{label} is {found}; allowed: {_shown(wanted)}")
        return {
            name: values[position] if convert is None else convert(values[position])
            for name, position, convert in self.outputs
        }


def compile_layout(declared: Sequence[Field]) -> Layout:
    """Compile the fields to as few structs as their byte orders allow.

    Raises ``ValueError`` where a constant does not fit its type.
    """
    formats: list[str] = []
    checks: list[tuple[str, int, object]] = []
    outputs: list[tuple[str, int, Convert | None]] = []
    position = 0
    for place, each in enumerate(declared):
        _append_format(formats, each)
        if each.kind == "skip":
            continue
        label = each.name or f"field {place} ({each.type})"
        if each.equals is not None:
            checks.append((label, position, _constant(each, label)))
        outputs += [(name, position, convert) for name, convert in _outputs(each)]
        position += 1
    structs = [struct.Struct(text) for text in formats]
    *offsets, size_bytes = accumulate((one.size for one in structs), initial=0)
    runs = tuple(zip(offsets, structs, strict=True))
    return Layout(size_bytes=size_bytes, runs=runs, checks=tuple(checks), outputs=tuple(outputs))


def _append_format(formats: list[str], each: Field) -> None:
    """Add the field to the last struct, or to a new one where its byte order differs."""
    letter = "x" if each.kind == "skip" else "s"
    code = NUMBER_CODES.get(each.type) or f"{each.size_bytes}{letter}"
    order = code[0] if code[0] in "<>" else ""
    if not formats or (order and formats[-1][0] not in ("=", order)):
        formats.append((order or "=") + code.lstrip("<>"))
    else:
        formats[-1] = (order or formats[-1][0]) + formats[-1][1:] + code.lstrip("<>")


def _constant(each: Field, label: str) -> object:
    wanted = each.equals
    if each.is_number is not isinstance(wanted, int | float):
        raise ValueError(f"{label}: equals {wanted!r:.80} is not what {each.type} holds")
    if isinstance(wanted, str):
        raw = bytes.fromhex(wanted) if each.kind == "bytes" else wanted.encode()
        if len(raw) > each.size_bytes or (each.kind == "bytes" and len(raw) < each.size_bytes):
            raise ValueError(f"{label}: equals {wanted!r:.80} has {len(raw)} bytes")
        return raw.ljust(each.size_bytes, b"\0")
    try:
        code = NUMBER_CODES[each.type]
        return struct.unpack(code, struct.pack(code, wanted))[0]
    except struct.error as problem:
        raise ValueError(f"{label}: equals {wanted!r:.80}: {problem}") from None


def _outputs(each: Field) -> Iterator[tuple[str, Convert | None]]:
    if each.name:
        yield each.name, _by_kind(each)
    shift = 0
    for part in each.bits:
        if part.name:
            yield part.name, _bits(part, shift)
        shift += part.bits


def _by_kind(each: Field) -> Convert | None:
    if each.kind == "text":
        return partial(_text, each.name)
    if each.kind == "bytes":
        return bytes.hex
    is_as_read = each.is_float and not each.is_scaled
    return partial(_finite, each.name) if is_as_read else _converted(each)


def _text(name: str, raw: bytes) -> object:
    try:
        return raw.partition(b"\0")[0].decode()
    except UnicodeDecodeError as error:
        byte = f"byte 0x{raw[error.start]:02x} at {error.start}"
        raise MalformedMessage(f"{name}: {byte} is not UTF-8") from None


def _bits(part: BitField, shift: int) -> Convert:
    mask = (1 << part.bits) - 1
    sign = 1 << (part.bits - 1) if part.signed else 0
    convert = _converted(part)

    def plain(word: int) -> object:
        return ((word >> shift & mask) ^ sign) - sign

    return plain if convert is None else lambda word: convert(plain(word))


def _converted(conversion: Conversion) -> Convert | None:
    if conversion.values:
        return _named(conversion.name, conversion.values)
    return _scaled(conversion) if conversion.is_scaled else None


def _named(name: str, values: Mapping[str, object]) -> Convert:
    by_number = {int(key): value for key, value in values.items()}

    def named(number: int) -> object:
        if number not in by_number:
            allowed = ", ".join(map(str, by_number))
            raise MalformedMessage(f"{name} is {number}; allowed: {allowed}")
        return by_number[number]

    return named


def _scaled(conversion: Conversion) -> Convert:
    scale, offset, finite = conversion.scale, conversion.offset, partial(_finite, conversion.name)
    divisor = round(1 / scale) if abs(scale) > 1 / _DIVISOR_MAX else 0
    if divisor and 1 / divisor == scale:  # 2131 / 100 is 21.31; 2131 * 0.01 is a hair more
        return lambda number: finite(number / divisor + offset)
    return lambda number: finite(number * scale + offset)


def _finite(name: str, number: float) -> object:
    if not math.isfinite(number):
        raise MalformedMessage(f"{name} is {number}; numbers are finite")
    return number


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
