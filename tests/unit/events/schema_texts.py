"""Schemas for the tests of this folder."""

from collections.abc import Mapping


def schema(properties: Mapping[str, object], *required: str) -> dict[str, object]:
    """Of an event with these properties."""
    return {"type": "object", "properties": dict(properties), "required": list(required)}
