"""The message types of a descriptor set, and the decoding of one message."""

import binascii
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet  # type: ignore[import-untyped]
from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from google.protobuf.message_factory import GetMessageClass  # type: ignore[import-untyped]

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.package_files import package_file


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTypes:
    """The message types of a descriptor set, changed so that each field costs what it holds.

    The elements of repeated messages and of maps are left as bytes, which are the same bytes, and
    are decoded one by one: two bytes could claim a message of any width, and a map would hide that
    a key was repeated. Extensions are taken away, and so skipped like unknown fields.

    ``element_types`` has the type of a field's elements by the field's full name, ``map_entries``
    the types that are a map's entries.
    """

    pool: DescriptorPool
    element_types: dict[str, str] = field(default_factory=dict)
    map_entries: set[str] = field(default_factory=set)

    def message_class(self, name: str) -> Any:
        """Find a type by its full name; raises ``ValueError`` where there is none."""
        try:
            return GetMessageClass(self.pool.FindMessageTypeByName(name))
        except KeyError:
            raise ValueError(f"descriptor_set has no message {name!r:.200}") from None


def message_types(descriptor_set: str) -> MessageTypes:
    """Read a descriptor set, given in base64 or as ``package:file``.

    Raises ``ValueError`` where it is none, or not whole.
    """
    types = MessageTypes(pool=DescriptorPool())
    try:
        files = FileDescriptorSet.FromString(_octets(descriptor_set)).file
    except DecodeError as problem:
        raise ValueError(f"descriptor_set is none: {problem}") from None
    for file in files:
        file.ClearField("extension")
        _open_elements(file.message_type, file.package, types)
        try:
            types.pool.Add(file)
        except TypeError as problem:
            why = f"{file.name}: {problem} (protoc needs --include_imports)"
            raise ValueError(f"descriptor_set: {why}") from None
    return types


def decoded(message_class: Any, octets: bytes) -> Any:
    """Decode one message; raises ``MalformedMessage`` where it is none, or not whole."""
    message = message_class()
    try:
        message.ParseFromString(octets)
    except DecodeError as problem:
        raise MalformedMessage(f"no {message.DESCRIPTOR.full_name}: {problem}") from None
    if not message.IsInitialized():
        missing = ", ".join(message.FindInitializationErrors())
        raise MalformedMessage(f"required fields are missing: {missing:.200}")
    return message


def _octets(descriptor_set: str) -> bytes:
    if ":" in descriptor_set:
        found = package_file(descriptor_set)
        if not found.is_file():
            raise ValueError(f"{descriptor_set!r:.200} is no file")
        return found.read_bytes()
    try:
        return b64decode(descriptor_set, validate=True)
    except binascii.Error as problem:
        raise ValueError(f"descriptor_set is neither package:file nor base64: {problem}") from None


def _open_elements(messages: Iterable[Any], scope: str, types: MessageTypes) -> None:
    for message in messages:
        name = f"{scope}.{message.name}".lstrip(".")
        message.ClearField("extension")
        if message.options.map_entry:
            message.options.ClearField("map_entry")
            types.map_entries.add(name)
        for each in message.field:
            is_repeated = each.label == FieldDescriptorProto.LABEL_REPEATED
            if is_repeated and each.type == FieldDescriptorProto.TYPE_MESSAGE:
                types.element_types[f"{name}.{each.name}"] = each.type_name.lstrip(".")
                each.type = FieldDescriptorProto.TYPE_BYTES
                each.ClearField("type_name")
        _open_elements(message.nested_type, name, types)
