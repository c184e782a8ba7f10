"""Which changes of a flow's schema break no reader of its events.

A property may be added, may become required, and may stop being null. Otherwise it stays as it is,
and so does its column in the lake.
"""

from collections.abc import Iterable, Iterator

from fleetlane.events.flows.event_schema import EventSchema, Property, properties_of
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.views import data_columns


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
            yield (
                f"property `{'.'.join(column.path)}` was column `{column.name}` in the lake and "
                f"would be {name}; name what is new otherwise"
            )
