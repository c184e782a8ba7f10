"""The JSON file beside a flow file that holds its schema: read once, then part of the flow."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.event_schema import schema_problem

FILE_BYTES_MAX: Final = 32 * 1024
"""All that reads the flows reads their schemas along."""

NESTED_MAX: Final = 64
"""What one reader can just unpack, another cannot: no flow could be read any more."""

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.json")


class BadSchemaError(FleetlaneError):
    """A flow's schema is refused. The problem names the property, and what is allowed."""

    reason = "bad_schema"
    named: object
    problem: str
    sentence = "schema {named}: {problem}"


def schema_beside(folder: Path | None, named: object) -> dict[str, object]:
    """Read the schema that a flow file in ``folder`` names.

    Raises:
        BadSchemaError: It names none, or there is none, or it is not allowed.
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
        values = [inner for one in values for inner in _values_of(one)]
    return levels - 1


def _values_of(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
