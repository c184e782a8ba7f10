"""One JSON document a message."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.json_domain import json_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Json(EventsInDocument):
    """An object is one event; an array of objects is one event each (see ``EventsInDocument``)."""

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        yield from self.events_in(json_value(message))
