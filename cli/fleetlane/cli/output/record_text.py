"""A Kafka record as text: for people, or as one line of JSON for scripts."""

import json
from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from fleetlane.events.envelope import Record
from fleetlane.events.record_json import record_fields, record_json
from fleetlane.events.times import time_text
from fleetlane.events.topics import PARKED
from operations.fleet.wording import NARROW_SPACE

_HEX_BYTES_MAX: Final = 256


def record_text(record: Record) -> str:
    """Where a record stands, its headers, and its value.

    Our own JSON is laid out over several lines; a device's bytes are shown as they came if they
    are text, else as hex, cut. No control character of a device's reaches the terminal.
    """
    lines = [_head(record), *_header_lines(record), *_value_lines(record)]
    return "\n".join(lines)


def record_line(record: Record) -> str:
    """One line of JSON: as ``fleetlane.events.record_json`` has it, and our own JSON as itself."""
    found = None if record.value is None else _our_json(record.topic, record.value)
    if found is None:
        return record_json(record)
    return json.dumps({**record_fields(record), "json": found})


def _head(record: Record) -> str:
    when = time_text(record.timestamp_ms) if record.timestamp_ms >= 0 else "no time"
    key = "no key" if record.key is None else f"key {_shown(record.key)}"
    return f"{record.topic}/{record.partition}/{record.offset}  {when}  {key}"


def _header_lines(record: Record) -> Iterator[str]:
    for name, value in record.headers:
        yield f"  {escaped(name)}: {'null' if value is None else _shown(value)}"


def _value_lines(record: Record) -> list[str]:
    if record.value is None:
        return ["  (no value)"]
    if not record.value:
        return ["  (empty)"]
    found = _our_json(record.topic, record.value)
    if found is not None:
        readable = json.dumps(found, ensure_ascii=False, indent=2)
        text = readable if _is_printable(readable) else json.dumps(found, indent=2)
    else:
        plain = _text(record.value)
        text = _cut_hex(record.value) if plain is None else plain
    return [f"  {line}" for line in text.splitlines()]


def _our_json(topic: str, value: bytes) -> object | None:
    """What Fleetlane wrote itself. A device's own JSON is not read: its bytes are the truth."""
    if topic == PARKED or topic.startswith("raw."):
        return None
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


def _text(value: bytes) -> str | None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return text if _is_printable(text) else None


def _is_printable(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


def _cut_hex(value: bytes) -> str:
    shown = value[:_HEX_BYTES_MAX].hex(" ", -2)
    rest = len(value) - _HEX_BYTES_MAX
    return f"{shown} … {rest} bytes more" if rest > 0 else shown


def _shown(value: bytes) -> str:
    return escaped(value.decode(errors="backslashreplace"))


def escaped(text: str) -> str:
    """Text of a device's, without what a terminal would obey."""
    return "".join(
        one if one.isprintable() or one == NARROW_SPACE else one.encode("unicode_escape").decode()
        for one in text
    )


def cell(text: str) -> Text:
    """The same for a table: square brackets are a device's text too, and no markup of Rich's."""
    return Text(escaped(text))


def fields_of(found: object, names: str) -> dict[str, Any]:
    """Its fields by name, for JSON; ``names`` has them with spaces between."""
    return {name: getattr(found, name) for name in names.split()}
