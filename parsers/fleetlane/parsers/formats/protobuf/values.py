"""What a decoded message becomes in JSON's values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.protobuf.descriptors import MessageTypes, decoded
from fleetlane.parsers.json_domain import Bounds

type Write = Callable[[Any, Bounds], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Writers of message types by full name: those with JSON text, and all that were met so far."""

    types: MessageTypes
    write_bytes: Callable[[bytes], str]
    writers: dict[str, Write] = field(default_factory=lambda: dict(_WITH_JSON_TEXT))


def message_writer(
    types: MessageTypes, name: str, write_bytes: Callable[[bytes], str]
) -> Callable[[bytes], object]:
    """Compile what decodes messages of the type ``name`` into JSON's values.

    It raises ``MalformedMessage`` for what is no such message, or is beyond JSON or the caps.

    Raises ``ValueError`` where there is no such type.
    """
    write = _octets_writer(name, _Scope(types=types, write_bytes=write_bytes))
    return lambda octets: write(octets, Bounds())


def _octets_writer(name: str, scope: _Scope) -> Write:
    message_class = scope.types.message_class(name)
    write = _message_writer(message_class.DESCRIPTOR, scope)
    return lambda octets, bounds: write(decoded(message_class, octets), bounds)


def _message_writer(descriptor: Any, scope: _Scope) -> Write:
    name, writers = descriptor.full_name, scope.writers
    if name in writers:
        return writers[name]
    writers[name] = lambda message, bounds: writers[name](message, bounds)  # noqa: PLW0108 - it may contain itself
    writers[name] = _unwrapping(name, _fields_writer(descriptor, scope))
    return writers[name]


def _fields_writer(descriptor: Any, scope: _Scope) -> Callable[[Any, Bounds], dict[str, object]]:
    plan = [(one.name, one.has_presence, _field_writer(one, scope)) for one in descriptor.fields]

    def write_message(message: Any, bounds: Bounds) -> dict[str, object]:
        bounds.enter(len(plan))
        event = {
            name: write(getattr(message, name), bounds)
            for name, has_presence, write in plan
            if not has_presence or message.HasField(name)
        }
        bounds.leave()
        return event

    return write_message


def _unwrapping(name: str, write: Callable[[Any, Bounds], dict[str, object]]) -> Write:
    if name == "google.protobuf.Value":
        return lambda message, bounds: next(iter(write(message, bounds).values()), None)
    if name in _UNWRAPPED:
        inner = _UNWRAPPED[name]
        return lambda message, bounds: write(message, bounds)[inner]
    return write


def _field_writer(each: Any, scope: _Scope) -> Write:
    element_type = scope.types.element_types.get(each.full_name)
    if element_type in scope.types.map_entries:
        return _map_writer(scope.types.message_class(element_type), scope)
    if element_type is not None:
        return partial(_list, _octets_writer(element_type, scope))
    write = _value_writer(each, scope)
    return partial(_list, write) if each.is_repeated else write


def _list(write: Write, values: Any, bounds: Bounds) -> object:
    bounds.enter(len(values))
    written = [write(value, bounds) for value in values]
    bounds.leave()
    return written


def _map_writer(entry_class: Any, scope: _Scope) -> Write:
    fields = entry_class.DESCRIPTOR.fields_by_name
    is_boolean = fields["key"].type == FieldDescriptor.TYPE_BOOL
    write = _value_writer(fields["value"], scope)

    def write_map(entries: Any, bounds: Bounds) -> object:
        bounds.enter(len(entries))
        written: dict[str, object] = {}
        for octets in entries:
            entry = decoded(entry_class, octets)
            key = str(entry.key).lower() if is_boolean else str(entry.key)
            if key in written:
                raise MalformedMessage(f"key {key!r:.80} is repeated within a map")
            written[key] = write(entry.value, bounds)
        bounds.leave()
        return written

    return write_map


def _value_writer(each: Any, scope: _Scope) -> Write:
    if each.message_type is not None:
        return _message_writer(each.message_type, scope)
    if each.enum_type is not None:
        return _enum_writer(each.enum_type)
    if each.type == FieldDescriptor.TYPE_BYTES:
        return lambda value, _: scope.write_bytes(value)
    if each.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return lambda number, bounds: bounds.finite(number)
    return _text if each.type == FieldDescriptor.TYPE_STRING else lambda value, _: value


def _enum_writer(enumeration: Any) -> Write:
    if enumeration.full_name == "google.protobuf.NullValue":
        return lambda *_: None
    names = {number: value.name for number, value in enumeration.values_by_number.items()}
    return lambda number, _: names.get(number, number)


def _text(value: object, _: Bounds) -> object:
    if not isinstance(value, str):  # proto2 allows it, and hands out the bytes
        raise MalformedMessage(f"text {value!r:.80} is not UTF-8")
    return value


def _json_text(message: Any, _: Bounds) -> object:
    try:
        return message.ToJsonString()
    except ValueError as problem:
        raise MalformedMessage(f"{message.DESCRIPTOR.name}: {problem}") from None


_WITH_JSON_TEXT: Mapping[str, Write] = {
    f"google.protobuf.{name}": _json_text for name in ("Timestamp", "Duration", "FieldMask")
}
_WRAPPED = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_UNWRAPPED: Mapping[str, str] = {
    "google.protobuf.Struct": "fields",
    "google.protobuf.ListValue": "values",
    **{f"google.protobuf.{kind}Value": "value" for kind in _WRAPPED},
}
