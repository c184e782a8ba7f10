"""Events beside the schema that their flow declares, by firmware. A schema refuses none."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import jsonschema_rs
import msgspec

from fleetlane.events.flows.event_schema import EventSchema, properties_of
from operations.fleet.questions import Row, Table, table

type Sampled = Iterable[tuple[str | None, str]]
"""The firmware of events' devices, and their data as JSON."""

PROBLEMS_MAX: Final = 20
"""Of one event; the others are not looked for."""

SHOWN_MAX: Final = 5
_NAME_CHARS_MAX: Final = 100

CONFORMANCE: Final = table("conformance")
"""``problems`` have a property's name and the schema's word; ``undeclared`` are properties that the
schema does not name, ``added`` those of them that no other firmware sends. Five of each."""


@dataclass(slots=True)
class _Seen:
    events: int = 0
    conforming: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    undeclared: Counter[str] = field(default_factory=Counter)


def conformance(schema: EventSchema, sampled: Sampled) -> Table:
    """Compare a sample of a stream's events with its schema."""
    by_firmware = defaultdict[str | None, _Seen](_Seen)
    validator = jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True)
    known = {"": True} | {str(one): one.has_properties for one in properties_of(schema)}
    for firmware, data in sampled:
        seen, event = by_firmware[firmware], msgspec.json.decode(data)
        problems = {_named(one) for one in islice(validator.iter_errors(event), PROBLEMS_MAX)}
        seen.events += 1
        seen.conforming += not problems
        seen.problems.update(problems)
        seen.undeclared.update({name[:_NAME_CHARS_MAX] for name in _undeclared(event, known)})
    senders = Counter(name for seen in by_firmware.values() for name in seen.undeclared)
    alone = {name for name, count in senders.items() if count == 1}
    ordered = sorted(by_firmware.items(), key=lambda one: one[0] or "")
    return CONFORMANCE.of([_row(firmware, seen, alone) for firmware, seen in ordered])


def _row(firmware: str | None, seen: _Seen, alone: set[str]) -> Row:
    return {
        "firmware": firmware,
        "events": seen.events,
        "conforming": seen.conforming,
        "problems": [name for name, _ in seen.problems.most_common(SHOWN_MAX)],
        "undeclared": [name for name, _ in seen.undeclared.most_common(SHOWN_MAX)],
        "added": sorted(alone & seen.undeclared.keys())[:SHOWN_MAX],
    }


def _named(problem: jsonschema_rs.ValidationError) -> str:
    """``lat: type``; no value, as that is a device's data."""
    path = [str(one) for one in problem.instance_path if isinstance(one, str)]
    path += [str(problem.kind.as_dict()["property"])] if problem.kind.name == "required" else []
    return f"{'.'.join(path)[:_NAME_CHARS_MAX]}: {problem.kind.name}"


def _undeclared(value: object, known: Mapping[str, bool], at: str = "") -> Iterator[str]:
    """The outermost properties that are not ``known``, which says of each whether it names more."""
    if isinstance(value, list) and f"{at}[]" in known:
        for one in value:
            yield from _undeclared(one, known, f"{at}[]")
    elif isinstance(value, Mapping) and known[at]:
        for name, inner in value.items():
            path = f"{at}.{name}" if at else name
            if path in known:
                yield from _undeclared(inner, known, path)
            else:
                yield path
