"""Reading a raw record's headers back into a message, each value checked."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fleetlane.events.envelope import (
    DEFAULT_CONTENT_TYPE,
    REVISION_MAX,
    SOURCE_PREFIX,
    BadEnvelopeError,
    Header,
    Message,
    PayloadReference,
)
from fleetlane.events.ids import is_raw_id
from fleetlane.events.lanes import Lane
from fleetlane.events.names import is_device_id, is_name
from fleetlane.events.times import MILLIS_MAX

_SPECVERSION: Final = b"1.0"
_SHA256 = re.compile("[0-9a-f]{64}")
_DECIMAL = re.compile("-?[0-9]{1,18}")
_KNOWN: Final = frozenset(
    {
        "ce_specversion",
        "content-type",
        "ce_id",
        "ce_source",
        "ce_type",
        "ce_time",
        "ce_arrivalmillis",
        "ce_lane",
        "ce_attempt",
        "ce_slowtries",
        "ce_revision",
        "ce_devicetype",
        "ce_firmware",
        "ce_startmillis",
        "ce_endmillis",
        "ce_bodyencoding",
        "ce_bodybytes",
        "ce_dataref",
        "ce_datasha256",
        "ce_truncatedfrom",
        "ce_via",
    }
)


def message_from(headers: Iterable[Header], body: bytes | None) -> Message:
    """Read a raw record. Header names are matched without regard to case.

    ``ce_time`` is not read: ``ce_arrivalmillis`` says the same, exactly. A null value without a
    reference is an empty body: that is how CloudEvents SDKs write one.

    Raises:
        BadEnvelopeError: A header is missing, repeated, or its value is not allowed.
    """
    known, others = _split(headers)
    read = _Reader(known)
    reference, body_bytes = _reference(read), read.required("ce_bodybytes", _count)
    if reference is not None and body is not None:
        raise BadEnvelopeError("ce_dataref", f"there is a value too, of {len(body)} bytes")
    if reference is None and len(body or b"") != body_bytes:
        raise BadEnvelopeError("ce_bodybytes", f"is {body_bytes}; the value has {len(body or b'')}")
    return Message(
        raw_id=read.required("ce_id", _raw_id),
        device_id=read.required("ce_source", _device_id),
        stream=read.required("ce_type", _name),
        arrival_millis=read.required("ce_arrivalmillis", _arrival_millis),
        lane=read.required("ce_lane", _lane),
        body=None if reference else body or b"",
        body_bytes=body_bytes,
        reference=reference,
        content_type=read.optional("content-type", _text) or DEFAULT_CONTENT_TYPE,
        attempt=read.required("ce_attempt", _attempt),
        slow_tries=read.optional("ce_slowtries", _count) or 0,
        revision=read.optional("ce_revision", _revision) or 0,
        device_type=read.optional("ce_devicetype", _name),
        firmware=read.optional("ce_firmware", _text),
        start_millis=read.optional("ce_startmillis", _integer),
        end_millis=read.optional("ce_endmillis", _integer),
        body_encoding=read.optional("ce_bodyencoding", _text),
        truncated_from_bytes=read.optional("ce_truncatedfrom", _count),
        via=read.optional("ce_via", _gateway_id),
        other_headers=others,
    )


def is_allowed_value(name: str, value: bytes) -> bool:
    """Whether one header that is known, read alone, may have this value."""
    if name == "ce_specversion":
        return value == _SPECVERSION
    try:
        _READERS.get(name, _text)(value.decode())
    except ValueError:
        return False
    return True


def _split(headers: Iterable[Header]) -> tuple[dict[str, bytes | None], tuple[Header, ...]]:
    known: dict[str, bytes | None] = {}
    others: list[Header] = []
    for header in headers:
        name = header[0] if header[0] in _KNOWN else header[0].lower()
        if name not in _KNOWN:
            others.append(header)
        elif name in known:
            raise BadEnvelopeError(name, "stands there more than once")
        else:
            known[name] = header[1]
    if known.get("ce_specversion") != _SPECVERSION:
        raise BadEnvelopeError("ce_specversion", f"is {known.get('ce_specversion')!r}, not 1.0")
    return known, tuple(others)


def _reference(read: "_Reader") -> PayloadReference | None:
    key, sha256 = read.optional("ce_dataref", _text), read.optional("ce_datasha256", _sha256)
    if (key is None) is not (sha256 is None):
        raise BadEnvelopeError("ce_dataref", "ce_dataref and ce_datasha256 go together")
    return None if key is None or sha256 is None else PayloadReference(key=key, sha256=sha256)


class _Reader:
    """Takes known headers by name, each through the function that checks its text."""

    def __init__(self, headers: Mapping[str, bytes | None]) -> None:
        self._headers = headers

    def optional[T](self, name: str, read: Callable[[str], T]) -> T | None:
        value = self._headers.get(name)
        if value is None:
            return None
        try:
            return read(value.decode())
        except ValueError as problem:
            raise BadEnvelopeError(name, f"{value[:80]!r} {_why(problem)}") from None

    def required[T](self, name: str, read: Callable[[str], T]) -> T:
        value = self.optional(name, read)
        if value is None:
            raise BadEnvelopeError(name, "is missing")
        return value


def _why(problem: ValueError) -> str:
    return "is not UTF-8" if isinstance(problem, UnicodeDecodeError) else str(problem)


def _text(value: str) -> str:
    return value


def _raw_id(value: str) -> str:
    if not is_raw_id(value):
        raise ValueError("is not 1 and 32 hex digits")
    return value


def _name(value: str) -> str:
    if not is_name(value):
        raise ValueError("is not a name")
    return value


def _device_id(source: str) -> str:
    device_id = source.removeprefix(SOURCE_PREFIX)
    if device_id is source or not is_device_id(device_id):
        raise ValueError(f"is not {SOURCE_PREFIX}<device id>")
    return device_id


def _gateway_id(value: str) -> str:
    if not is_device_id(value):
        raise ValueError("is not a device id")
    return value


def _integer(value: str) -> int:
    if _DECIMAL.fullmatch(value) is None:
        raise ValueError("is not a decimal number of at most 18 digits")
    return int(value)


def _count(value: str) -> int:
    number = _integer(value)
    if number < 0:
        raise ValueError("is negative")
    return number


def _attempt(value: str) -> int:
    number = _count(value)
    if number == 0:
        raise ValueError("is not 1 or more")
    return number


def _revision(value: str) -> int:
    number = _count(value)
    if number > REVISION_MAX:
        raise ValueError(f"is over {REVISION_MAX}, the largest CloudEvents Integer")
    return number


def _arrival_millis(value: str) -> int:
    number = _count(value)
    if number > MILLIS_MAX:
        raise ValueError("is after the year 9999")
    return number


def _sha256(value: str) -> str:
    if _SHA256.fullmatch(value) is None:
        raise ValueError("is not 64 hex digits")
    return value


def _lane(value: str) -> Lane:
    if value not in Lane:
        raise ValueError(f"is not one of {', '.join(Lane)}")
    return Lane(value)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "ce_type": _name,
    "ce_lane": _lane,
    "ce_attempt": _attempt,
    "ce_slowtries": _count,
    "ce_devicetype": _name,
    "ce_via": _gateway_id,
}
"""Headers whose value repeats from message to message; of the others any text is allowed."""
