"""Finds the events in one document of nested values, whichever format it was written in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsInDocument:
    """A format of one document a message: an object is one event, an array of them one each.

    ``events_at`` is where in the document they are, ``shared_fields`` what of its top is copied
    into each: an event's own field of that name wins.
    """

    events_at: str = ""
    shared_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.events_at and not all(self.events_at.split(".")):
            raise ValueError(f"events_at {self.events_at!r} has an empty name between its dots")
        if self.shared_fields and not self.events_at:
            raise ValueError("shared_fields needs events_at: where else would they be copied to?")

    def events_in(self, document: object) -> Iterator[Mapping[str, object]]:
        """Yield the events of ``document``, whose values are JSON's.

        Raises ``MalformedMessage`` where they are not where the options say, or no objects.
        """
        if not self.events_at:
            yield from _events(document, "the document")
            return
        events = _events(_value_at(document, self.events_at), repr(self.events_at))
        assert isinstance(document, dict), "the events were found in it"
        shared = {name: document[name] for name in self.shared_fields if name in document}
        yield from ({**shared, **event} for event in events) if shared else events


def _events(value: object, place: str) -> Iterator[Mapping[str, object]]:
    if isinstance(value, dict):
        yield value
        return
    if not isinstance(value, list):
        raise MalformedMessage(f"{place} is {kind_of(value)}; allowed: an object, or an array")
    for position, element in enumerate(value):
        if not isinstance(element, dict):
            problem = f"element {position} of {place} is {kind_of(element)}"
            raise MalformedMessage(f"{problem}; events are objects")
        yield element


def _value_at(document: object, path: str) -> object:
    value = document
    for name in path.split("."):
        if not isinstance(value, dict):
            found = f"found {kind_of(value)}, not an object"
            raise MalformedMessage(f"no {name!r} of {path!r}: {found}")
        if name not in value:
            raise MalformedMessage(f"no {name!r} of {path!r} in the document")
        value = value[name]
    return value
