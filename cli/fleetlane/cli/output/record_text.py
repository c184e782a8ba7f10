"""A Kafka record as text: for people, or as one line of JSON for scripts."""

import json
from typing import Any, Final

from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.events import headers as ce
from fleetlane.events.envelope import Record
from fleetlane.events.record_json import record_fields
from fleetlane.events.topics import PARKED

_HEX_BYTES_MAX: Final = 256


def record_text(record: Record, times: TimeOptions = EXACT) -> str:
    """The record's position, its headers, and its value.

    Our own JSON is laid out over several lines; a device's bytes are shown as they came if they
    are text, else as hex, cut. No control character of a device's reaches the terminal.
    """
    when = times.exact(record.timestamp_ms) if record.timestamp_ms >= 0 else "no time"
    key = "no key" if record.key is None else f"key {_shown(record.key)}"
    headers = [
        f"  {escaped(name)}: {'null' if value is None else _shown(value)}"
        for name, value in record.headers
    ]
    return "\n".join([f"{record.position}  {when}  {key}", *headers, *_value_lines(record)])


def record_line(record: Record) -> str:
    """One line of JSON: as ``fleetlane.events.record_json`` has it, and our own JSON beside it."""
    found = None if record.value is None else _our_json(record.topic, record.value)
    return json.dumps({**record_fields(record), **({} if found is None else {"json": found})})


def value_line(record: Record) -> str:
    """The value alone: text as it came, other bytes as hexadecimal."""
    value = record.value or b""
    text = _text(value)
    return value.hex() if text is None else text


def origin_of(record: Record) -> tuple[str, str]:
    """The device and the stream of a record of any topic of ours; empty where it names none."""
    found = _our_json(record.topic, record.value or b"")
    if isinstance(found, dict):
        source, stream = found.get("source"), found.get("type")
        device, stream = found.get("device_id", source), found.get("stream", stream)
    else:
        headers = dict(record.headers)
        names = (headers.get(ce.SOURCE), headers.get(ce.TYPE))
        device, stream = (name and name.decode(errors="replace") for name in names)
    return str(device or "").removeprefix("/devices/"), str(stream or "")


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


def fields_of(found: object, names: str, **before: object) -> dict[str, Any]:
    """Its fields by name, for JSON, behind those ``before``; ``names`` has spaces between."""
    return before | {name: getattr(found, name) for name in names.split()}
