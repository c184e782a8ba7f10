"""A schema, compiled once to what reads its records.

fastavro resolves the names of a schema and checks it. The bytes are read here: its reader ends the
process on a deeply recursive value, fills the memory for an array of nulls, and takes integers of
any length, repeated keys, and an enumeration's or union's index below zero.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, cast

from fastavro.schema import SchemaParseException, UnknownType, parse_schema

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.logical_types import conversion
from fleetlane.parsers.formats.avro.source import PRIMITIVES, Read, Source, read_string
from fleetlane.parsers.json_domain import BYTES_WRITERS, BytesAs, json_value, repeated

SCHEMA_BYTES_MAX = 65_536

_NO_TYPE_CHECKED = (ArithmeticError, AttributeError, LookupError, TypeError)
"""What ``parse_schema`` raises besides its own: it checks no type of what it reads."""

type ReadData = Callable[[bytes, int, int], Iterator[object]]
"""Reads of bytes, from a start to the end, so many data that fill them, in JSON's values."""


@lru_cache(maxsize=16)  # a fleet's containers repeat few schemas
def compile_schema(text: bytes, bytes_as: BytesAs) -> ReadData:
    """Compile a schema's JSON text; raises ``ValueError`` where it is none, or over the limit."""
    if len(text) > SCHEMA_BYTES_MAX:
        raise ValueError(f"a schema of {len(text)} bytes; the limit is {SCHEMA_BYTES_MAX}")
    try:
        parsed = parse_schema(cast("dict[str, Any]", json_value(text)))
        read = _compiled(parsed, _Scope(write_bytes=BYTES_WRITERS[bytes_as]))
    except MalformedMessage as problem:
        raise ValueError(str(problem)) from None
    except (SchemaParseException, UnknownType, *_NO_TYPE_CHECKED) as problem:
        raise ValueError(f"no schema of Avro: {type(problem).__name__}: {problem}") from None

    def data(octets: bytes, start: int, count: int) -> Iterator[object]:
        source = Source(octets, at=start)
        for _ in range(count):
            source.begin_document()
            yield read(source)
        if source.at != len(octets):
            raise MalformedMessage(f"{len(octets) - source.at} bytes after the last record")

    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """The named types that were defined so far, and how bytes become text."""

    write_bytes: Callable[[bytes], str]
    named: dict[str, Read] = field(default_factory=dict)


def _compiled(schema: object, scope: _Scope) -> Read:
    if isinstance(schema, list):
        branches = tuple(_compiled(branch, scope) for branch in schema)
        return lambda source: _chosen(source, branches, "branch {} of a union of {}")(source)
    if isinstance(schema, str):
        if schema in scope.named:
            return scope.named[schema]
        return _converted({"type": schema}, PRIMITIVES[schema], scope)
    if not isinstance(schema, dict):
        raise TypeError(f"{schema!r:.80} is no schema")
    kind = schema["type"]
    if kind in _NAMED:
        return _named(kind, schema, scope)
    if kind in _OF_PARTS:
        read, parts = _OF_PARTS[kind]
        return partial(read, _compiled(schema[parts], scope))
    return _converted(schema, PRIMITIVES.get(kind) or _compiled(kind, scope), scope)


def _converted(schema: Mapping[str, object], read: Read, scope: _Scope) -> Read:
    convert = conversion(schema, scope.write_bytes)
    return read if convert is None else lambda source: convert(read(source))


def _named(kind: str, schema: Mapping[str, Any], scope: _Scope) -> Read:
    name, named = schema["name"], scope.named
    named[name] = lambda source: named[name](source)  # noqa: PLW0108 - it may contain itself
    named[name] = _NAMED[kind](schema, scope)
    return named[name]


def _record(schema: Mapping[str, Any], scope: _Scope) -> Read:
    fields = [(each["name"], _compiled(each["type"], scope)) for each in schema["fields"]]
    _require_distinct_texts([name for name, _ in fields])

    def read(source: Source) -> object:
        source.enter(len(fields))
        record = {name: read_field(source) for name, read_field in fields}
        source.leave()
        return record

    return read


def _enum(schema: Mapping[str, Any], _: _Scope) -> Read:
    symbols = tuple(schema["symbols"])
    _require_distinct_texts(symbols)
    return lambda source: _chosen(source, symbols, "symbol {} of an enumeration of {}")


def _fixed(schema: Mapping[str, Any], scope: _Scope) -> Read:
    size = schema["size"]
    if type(size) is not int or size < 0:
        raise TypeError(f"a fixed of size {size!r:.80}")
    return _converted(schema, lambda source: source.take(size), scope)


def _chosen[T](source: Source, choices: tuple[T, ...], problem: str) -> T:
    index = source.long()
    if not 0 <= index < len(choices):
        raise source.malformed(problem.format(index, len(choices)))
    return choices[index]


def _array(read_item: Read, source: Source) -> object:
    source.enter(0)
    items = [read_item(source) for count in source.block_counts() for _ in range(count)]
    source.leave()
    return items


def _map(read_value: Read, source: Source) -> object:
    source.enter(0)
    entries: dict[str, object] = {}
    for count in source.block_counts():
        for _ in range(count):
            key = read_string(source)
            if key in entries:
                raise source.malformed(f"key {key!r:.80} is repeated within a map")
            entries[key] = read_value(source)
    source.leave()
    return entries


_OF_PARTS: Mapping[object, tuple[Callable[[Read, Source], object], str]] = {
    "array": (_array, "items"),
    "map": (_map, "values"),
}
_NAMED: Mapping[object, Callable[[Mapping[str, Any], _Scope], Read]] = {
    "record": _record,
    "error": _record,
    "enum": _enum,
    "fixed": _fixed,
}


def _require_distinct_texts(names: Sequence[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{name!r:.80} is no name")
    for name in repeated(names):
        raise TypeError(f"name {name!r:.80} is repeated")
