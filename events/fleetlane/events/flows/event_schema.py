"""The JSON Schema that a flow declares in a file of its own: it describes events, and refuses none.

Of JSON Schema 2020-12 ``type``, ``format``, ``properties``, ``required`` and ``items`` are read
here; every other keyword is for those who read the schema.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from fleetlane.events.errors import FleetlaneError

type EventSchema = Mapping[str, object]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
DEPTH_MAX: Final = 8
PROPERTIES_MAX: Final = 500
_NAME_CHARS_MAX: Final = 200
_NOT_IN_NAMES: Final = '" \\ *'
"""Characters with a meaning of their own in the paths by which engines find a property."""

FILE_BYTES_MAX: Final = 32 * 1024
"""All that reads the flows reads their schemas along."""

NESTED_MAX: Final = 64
"""What one reader can just unpack, another cannot: no flow could be read any more."""

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property, and what is known of its values.

    ``types`` leaves out ``null``; it is empty where any type is allowed.
    ``is_in_items`` where it belongs to the items of an array, which ``path`` writes as ``[]``.
    """

    path: tuple[str, ...]
    types: frozenset[str]
    is_nullable: bool
    is_time: bool
    is_required: bool
    is_in_items: bool
    has_properties: bool

    def __str__(self) -> str:
        return ".".join(self.path).replace(".[]", "[]")

    @property
    def kind(self) -> str:
        if self.is_time:
            return "string (date-time)"
        return " or ".join(sorted(self.types)) or "anything"


def properties_of(
    schema: EventSchema, path: tuple[str, ...] = (), *, is_in_items: bool = False
) -> Iterator[Property]:
    """All properties that can be named, the outer before the inner ones; of no schema, none.

    A newer release may allow what this one does not know: nothing is refused here.
    """
    if len(path) >= DEPTH_MAX:
        return
    required = _texts(schema.get("required"))
    for name, value in sorted(_mapping(schema.get("properties")).items()):
        if _is_allowed(name):
            inner, here = _mapping(value), (*path, name)
            yield _property(inner, here, is_required=name in required, is_in_items=is_in_items)
            yield from properties_of(inner, here, is_in_items=is_in_items)
    items = _mapping(schema.get("items"))
    if items:
        yield _property(items, (*path, "[]"), is_required=False, is_in_items=True)
        yield from properties_of(items, (*path, "[]"), is_in_items=True)


def schema_problem(schema: object) -> str | None:
    """What is not allowed about a schema, in a sentence that names the property."""
    if not isinstance(schema, Mapping):
        return "is no JSON object"
    return next(_problems(schema), None)


class BadSchemaError(FleetlaneError):
    """A flow's schema is refused. The problem names the property, and what is allowed."""

    named: object
    problem: str
    sentence = "schema {named}: {problem}"


def schema_beside(folder: Path | None, named: object) -> dict[str, object]:
    """Read the schema that a flow file in ``folder`` names.

    Raises ``BadSchemaError`` where it names none, or there is none, or it is not allowed.
    """
    if not isinstance(named, str) or not _FILE_NAME.fullmatch(named):
        allowed = 'the name of a file beside the flow file, like "gps.schema.json"'
        raise BadSchemaError(f"{named!r:.80}", f"is no name of a file; allowed: {allowed}")
    if folder is None:
        raise BadSchemaError(named, "can be read only where the flow is a file")
    schema = _document(folder / named, named)
    problem = schema_problem(schema)
    if problem is not None or not isinstance(schema, dict):
        raise BadSchemaError(named, problem or "is no JSON object")
    return schema


def _problems(schema: EventSchema) -> Iterator[str]:
    dialect = schema.get("$schema", DIALECT)
    if dialect != DIALECT:
        yield f"`$schema` is {dialect!r:.80}; allowed: {DIALECT}"
    if schema.get("type") != "object" or not schema.get("properties"):
        yield 'is not for an event; allowed: `type` "object", with `properties`'
    yield from _problems_inside(schema, ())
    number = sum(1 for _ in properties_of(schema))
    if number > PROPERTIES_MAX:
        yield f"has {number} properties; allowed: {PROPERTIES_MAX}"


def _problems_inside(schema: EventSchema, path: tuple[str, ...]) -> Iterator[str]:
    at = f"property `{'.'.join(path)}`: " if path else ""
    yield from (f"{at}{problem}" for problem in _problems_of_one(schema))
    if len(path) > DEPTH_MAX:
        yield f"{at}lies {len(path)} deep; allowed: {DEPTH_MAX}"
        return
    for name, inner in _mapping(schema.get("properties")).items():
        here = (*path, name)
        if not _is_allowed(name):
            allowed = f"1 to {_NAME_CHARS_MAX} printable characters, and none of {_NOT_IN_NAMES}"
            yield f"{at}a property is named {name[:_NAME_CHARS_MAX]!r}; allowed: {allowed}"
        elif isinstance(inner, Mapping):
            yield from _problems_inside(inner, here)
        else:
            yield f"property `{'.'.join(here)}` is {inner!r:.80}; allowed: an object with `type`"
    if isinstance(schema.get("items"), Mapping):
        yield from _problems_inside(_mapping(schema["items"]), (*path, "[]"))


def _problems_of_one(schema: EventSchema) -> Iterator[str]:
    kind, required = schema.get("type", []), schema.get("required", [])
    named = kind if isinstance(kind, list) else [kind]
    if not all(isinstance(one, str) and one in TYPES for one in named):
        yield f"`type` is {kind!r:.80}; allowed: {', '.join(sorted(TYPES))}, or a list of them"
    if not isinstance(schema.get("properties", {}), Mapping):
        yield f"`properties` is {schema['properties']!r:.80}; allowed: an object by name"
    if not isinstance(schema.get("format", ""), str):
        yield f"`format` is {schema['format']!r:.80}; allowed: a name, like date-time"
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        yield f"`required` is {required!r:.80}; allowed: a list of names"
    for name in ("$ref", "$dynamicRef"):
        if name in schema:
            yield f"`{name}` is {schema[name]!r:.80}; allowed: what it refers to, written here"


def _property(
    schema: EventSchema, path: tuple[str, ...], *, is_required: bool, is_in_items: bool
) -> Property:
    kind = schema.get("type")
    types = frozenset([kind] if isinstance(kind, str) else _texts(kind))
    return Property(
        path=path,
        types=types - {"null"},
        is_nullable="null" in types or not types,
        is_time=types - {"null"} == {"string"} and schema.get("format") == "date-time",
        is_required=is_required,
        is_in_items=is_in_items,
        has_properties=len(path) < DEPTH_MAX and bool(_mapping(schema.get("properties"))),
    )


def _is_allowed(name: str) -> bool:
    is_short = 0 < len(name) <= _NAME_CHARS_MAX
    return is_short and name.isprintable() and not set(name) & set(_NOT_IN_NAMES.split())


def _mapping(value: object) -> EventSchema:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _document(path: Path, named: str) -> object:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise BadSchemaError(named, f"cannot be read: {problem.strerror}") from None
    if len(data) > FILE_BYTES_MAX:
        raise BadSchemaError(named, f"has {len(data)} bytes; allowed: {FILE_BYTES_MAX}")
    try:
        document: object = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise BadSchemaError(named, f"is not JSON: {problem}") from None
    nested = _nested(document)
    if nested > NESTED_MAX:
        raise BadSchemaError(named, f"is nested {nested} deep; allowed: {NESTED_MAX}")
    return document


def _nested(document: object) -> int:
    levels, values = 0, [document]
    while values:
        levels += 1
        objects = (one.values() for one in values if isinstance(one, dict))
        arrays = (one for one in values if isinstance(one, list))
        values = [inner for one in chain(objects, arrays) for inner in one]
    return levels - 1
