"""The view of a stream in the lake: its events in typed columns, by the schema of its flow."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fleetlane.events.flows.event_schema import EventSchema, Property, properties_of
from fleetlane.events.flows.flow import Flow

VIEW_PREFIX: Final = "stream_"
"""What the names of all views begin with, beside the lake's tables."""

_NAME_CHARS_MAX: Final = 120
_NOT_SAFE: Final = re.compile("[^a-z0-9_]")


class Kind(StrEnum):
    """What a column holds. JSON is text."""

    BOOLEAN = "boolean"
    DATE = "date"
    INTEGER = "integer"
    JSON = "json"
    NUMBER = "number"
    TEXT = "text"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnColumn:
    """What the lake knows of every event, from ``source`` of its table; a time is in UTC."""

    name: str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumn:
    """What is in an event's data at ``path``; null where it is not of its kind."""

    name: str
    kind: Kind
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeView:
    """The events of ``stream``, one row each, in columns of ``own`` and then of ``data``."""

    stream: str
    own: tuple[OwnColumn, ...]
    data: tuple[DataColumn, ...]

    @property
    def name(self) -> str:
        """No two streams have the same: a stream's own name has no underscore."""
        return f"{VIEW_PREFIX}{self.stream.replace('-', '_')}"

    @property
    def columns(self) -> tuple[OwnColumn | DataColumn, ...]:
        return (*self.own, *self.data)


OWN_COLUMNS: Final = tuple(
    OwnColumn(name=name, kind=kind, source=source)
    for name, kind, source in (
        ("id", Kind.TEXT, "id"),
        ("device_id", Kind.TEXT, "device_id"),
        ("event_at", Kind.TIME, "event_ms"),
        ("arrived_at", Kind.TIME, "arrival_ms"),
        ("day", Kind.DATE, "day"),
        ("time_quality", Kind.TEXT, "time_quality"),
        ("parser", Kind.TEXT, "parser"),
        ("revision", Kind.INTEGER, "revision"),
        ("raw_id", Kind.TEXT, "raw_id"),
    )
)


def view_of(flow: Flow) -> LakeView | None:
    """A flow's view; without a schema it has none."""
    if flow.schema is None:
        return None
    return LakeView(stream=flow.stream, own=OWN_COLUMNS, data=data_columns(flow.schema))


def views_of(flows: Iterable[Flow]) -> Iterator[LakeView]:
    """The views of all flows that have one."""
    views = (view_of(flow) for flow in flows)
    return (view for view in views if view is not None)


def data_columns(schema: EventSchema) -> tuple[DataColumn, ...]:
    """A column for each property that has none inside it, in the order of their paths.

    Names are safe in every engine, and no two are alike: the outer property keeps the plain one.
    """
    leaves = [one for one in properties_of(schema) if _is_leaf(one)]
    taken, names = {column.name for column in OWN_COLUMNS}, {}
    for leaf in sorted(leaves, key=lambda one: (len(one.path), one.path)):
        names[leaf.path] = _free_name(leaf, taken)
        taken.add(names[leaf.path])
    columns = (DataColumn(name=names[one.path], kind=_kind(one), path=one.path) for one in leaves)
    return tuple(sorted(columns, key=lambda one: one.path))


def _is_leaf(one: Property) -> bool:
    return not one.is_in_items and not (one.types == {"object"} and one.has_properties)


def _free_name(leaf: Property, taken: set[str]) -> str:
    plain = _NOT_SAFE.sub("_", "_".join(leaf.path).lower())[:_NAME_CHARS_MAX]
    if plain[0].isdigit() or plain in {column.name for column in OWN_COLUMNS}:
        plain = f"data_{plain}"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}_{number}"
    return name


def _kind(one: Property) -> Kind:
    if one.is_time:
        return Kind.TIME
    if one.types == {"integer", "number"}:
        return Kind.NUMBER
    if len(one.types) != 1:
        return Kind.JSON
    named = {"string": Kind.TEXT, "integer": Kind.INTEGER, "number": Kind.NUMBER}
    return (named | {"boolean": Kind.BOOLEAN}).get(next(iter(one.types)), Kind.JSON)
