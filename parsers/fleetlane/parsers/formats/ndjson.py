"""Newline-delimited JSON: an event a line."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import json_value, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Ndjson:
    """Each line is a JSON object, and one event. Blank lines are skipped."""

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        for line_number, line in enumerate(io.BytesIO(message), start=1):
            if line.isspace():
                continue
            try:
                event = json_value(line)
            except MalformedMessage as error:
                raise MalformedMessage(f"line {line_number}: {error}") from None
            if not isinstance(event, dict):
                problem = f"line {line_number} is {kind_of(event)}"
                raise MalformedMessage(f"{problem}; events are objects")
            yield event
