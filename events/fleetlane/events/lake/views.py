"""A stream's view in the lake, typed by its flow's schema; changes that break its readers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from typing import Final, NamedTuple

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


class OwnColumn(NamedTuple):
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


OWN_COLUMNS: Final = (
    OwnColumn("id", Kind.TEXT, "id"),
    OwnColumn("device_id", Kind.TEXT, "device_id"),
    OwnColumn("event_at", Kind.TIME, "event_ms"),
    OwnColumn("arrived_at", Kind.TIME, "arrival_ms"),
    OwnColumn("day", Kind.DATE, "day"),
    OwnColumn("time_quality", Kind.TEXT, "time_quality"),
    OwnColumn("parser", Kind.TEXT, "parser"),
    OwnColumn("revision", Kind.INTEGER, "revision"),
    OwnColumn("raw_id", Kind.TEXT, "raw_id"),
)


def view_of(flow: Flow) -> LakeView | None:
    """A flow's view; without a schema it has none."""
    if flow.schema is None:
        return None
    return LakeView(stream=flow.stream, own=OWN_COLUMNS, data=data_columns(flow.schema))


def data_columns(schema: EventSchema) -> tuple[DataColumn, ...]:
    """A column for each property that has none inside it, in the order of their paths.

    Names are safe in every engine, and no two are alike: the outer property keeps the plain one.
    """
    found = (one for one in properties_of(schema) if not one.is_in_items)
    leaves = (one for one in found if one.types != {"object"} or not one.has_properties)
    taken, columns = {column.name for column in OWN_COLUMNS}, list[DataColumn]()
    for leaf in sorted(leaves, key=lambda one: (len(one.path), one.path)):
        name = _free_name(leaf, taken)
        taken.add(name)
        columns.append(DataColumn(name=name, kind=_kind(leaf), path=leaf.path))
    return tuple(sorted(columns, key=lambda one: one.path))


def _free_name(leaf: Property, taken: set[str]) -> str:
    plain = _NOT_SAFE.sub("_", "_".join(leaf.path).lower())[:_NAME_CHARS_MAX]
    if plain[0].isdigit() or plain in {column.name for column in OWN_COLUMNS}:
        plain = f"data_{plain}"
    names = chain([plain], (f"{plain}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _kind(one: Property) -> Kind:
    if one.is_time:
        return Kind.TIME
    if one.types == {"integer", "number"}:
        return Kind.NUMBER
    if len(one.types) != 1:
        return Kind.JSON
    named = {"string": Kind.TEXT, "integer": Kind.INTEGER, "number": Kind.NUMBER}
    return (named | {"boolean": Kind.BOOLEAN}).get(next(iter(one.types)), Kind.JSON)


def breaking_changes(before: Iterable[Flow], after: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """Streams whose schema may not change like this, and a sentence for each change.

    A flow that is new, or gone, or had no schema breaks nothing.
    """
    known = {flow.stream: flow.schema for flow in before}
    for flow in after:
        schema = known.get(flow.stream)
        if schema is not None:
            for change in broken_by(schema, flow.schema):
                yield flow.stream, f"schema: {change}; a stream of another name may differ"


def broken_by(before: EventSchema, after: EventSchema | None) -> Iterator[str]:
    """What a reader of ``before`` would miss in ``after``, a sentence each."""
    if after is None:
        yield "it was removed"
        return
    found = {one.path: one for one in properties_of(after)}
    reported: set[tuple[str, ...]] = set()
    for one in properties_of(before):
        if any(one.path[:length] in reported for length in range(len(one.path))):
            continue  # what contains it was reported
        problem = _problem(one, found.get(one.path))
        if problem is not None:
            reported.add(one.path)
            yield f"property `{one}` {problem}"
    if not reported:
        yield from _moved_columns(before, after)


def _problem(before: Property, after: Property | None) -> str | None:
    if after is None:
        return "was removed; keep it"
    if after.kind != before.kind:
        return f"was {before.kind} and is {after.kind}; keep {before.kind}"
    if after.is_nullable and not before.is_nullable:
        return "was never null and may be; keep its `type`"
    if before.is_required and not after.is_required:
        return "was required and is optional; keep it in `required`"
    return None


def _moved_columns(before: EventSchema, after: EventSchema) -> Iterator[str]:
    columns = {one.path: one for one in data_columns(after)}
    for column in data_columns(before):
        now = columns.get(column.path)
        if now is None or now.name != column.name:
            name = "no column" if now is None else f"column `{now.name}`"
            was = f"property `{'.'.join(column.path)}` was column `{column.name}` in the lake"
            yield f"{was} and would be {name}; name what is new otherwise"
