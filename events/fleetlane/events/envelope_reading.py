"""Reading a raw record's headers back into a message, each value checked."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final

from fleetlane.events import headers as ce
from fleetlane.events.attributes import are_attributes
from fleetlane.events.envelope import (
    DEFAULT_CONTENT_TYPE,
    REVISION_MAX,
    SOURCE_PREFIX,
    BadEnvelopeError,
    Header,
    Message,
    PayloadReference,
)
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.names import is_device_id, is_name, is_raw_id
from fleetlane.events.times import MILLIS_MAX

_SPECVERSION: Final = b"1.0"
_SHA256 = re.compile("[0-9a-f]{64}")
_DECIMAL = re.compile("-?[0-9]{1,18}")


def message_from(headers: Iterable[Header], body: bytes | None) -> Message:
    """Read a raw record. Header names are matched without regard to case.

    ``ce_time`` is not read: ``ce_arrivalmillis`` says the same, exactly. A null value without a
    reference is an empty body: that is how CloudEvents SDKs write one.

    Raises ``BadEnvelopeError`` where a header is missing, repeated, or its value not allowed.
    """
    known, others = _split(headers)
    read = _Reader(known)
    reference, body_bytes = _reference(read), read.required(ce.BODY_BYTES, _count)
    if reference is not None and body is not None:
        raise BadEnvelopeError(ce.DATA_REF, f"there is a value too, of {len(body)} bytes")
    if reference is None and len(body or b"") != body_bytes:
        raise BadEnvelopeError(ce.BODY_BYTES, f"is {body_bytes}; the value has {len(body or b'')}")
    return Message(
        raw_id=read.required(ce.ID, _raw_id),
        device_id=read.required(ce.SOURCE, _device_id),
        stream=read.required(ce.TYPE, _name),
        arrival_millis=read.required(ce.ARRIVAL_MILLIS, _arrival_millis),
        lane=read.required(ce.LANE, _lane),
        bulk_cause=read.optional(ce.BULK_CAUSE, _bulk_cause),
        body=None if reference else body or b"",
        body_bytes=body_bytes,
        reference=reference,
        content_type=read.optional(ce.CONTENT_TYPE, _text) or DEFAULT_CONTENT_TYPE,
        attempt=read.required(ce.ATTEMPT, _attempt),
        slow_tries=read.optional(ce.SLOW_TRIES, _count) or 0,
        revision=read.optional(ce.REVISION, _revision) or 0,
        device_type=read.optional(ce.DEVICE_TYPE, _name),
        firmware=read.optional(ce.FIRMWARE, _text),
        attributes=read.optional(ce.ATTRIBUTES, _attributes),
        start_millis=read.optional(ce.START_MILLIS, _integer),
        end_millis=read.optional(ce.END_MILLIS, _integer),
        body_encoding=read.optional(ce.BODY_ENCODING, _text),
        truncated_from_bytes=read.optional(ce.TRUNCATED_FROM, _count),
        via=read.optional(ce.VIA, _gateway_id),
        other_headers=others,
    )


def is_allowed_value(name: str, value: bytes) -> bool:
    """Whether one header that is known, read alone, may have this value."""
    if name == ce.SPECVERSION:
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
        name = header[0] if header[0] in ce.ENVELOPE else header[0].lower()
        if name not in ce.ENVELOPE:
            others.append(header)
        elif name in known:
            raise BadEnvelopeError(name, "is repeated")
        else:
            known[name] = header[1]
    if known.get(ce.SPECVERSION) != _SPECVERSION:
        raise BadEnvelopeError(ce.SPECVERSION, f"is {known.get(ce.SPECVERSION)!r}, not 1.0")
    return known, tuple(others)


def _reference(read: "_Reader") -> PayloadReference | None:
    key, sha256 = read.optional(ce.DATA_REF, _text), read.optional(ce.DATA_SHA256, _sha256)
    if (key is None) is not (sha256 is None):
        raise BadEnvelopeError(ce.DATA_REF, f"{ce.DATA_REF} and {ce.DATA_SHA256} go together")
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
            why = "is not UTF-8" if isinstance(problem, UnicodeDecodeError) else problem
            raise BadEnvelopeError(name, f"{value[:80]!r} {why}") from None

    def required[T](self, name: str, read: Callable[[str], T]) -> T:
        value = self.optional(name, read)
        if value is None:
            raise BadEnvelopeError(name, "is missing")
        return value


def _checked[T](
    read: Callable[[str], T], is_allowed: Callable[[T], object], problem: str
) -> Callable[[str], T]:
    def checked(text: str) -> T:
        value = read(text)
        if not is_allowed(value):
            raise ValueError(problem)
        return value

    return checked


def _one_of[E: StrEnum](kind: type[E]) -> Callable[[str], E]:
    def read(text: str) -> E:
        if text not in kind:
            raise ValueError(f"is not one of {', '.join(kind)}")
        return kind(text)

    return read


def _device_id(source: str) -> str:
    device_id = source.removeprefix(SOURCE_PREFIX)
    if device_id is source or not is_device_id(device_id):
        raise ValueError(f"is not {SOURCE_PREFIX}<device id>")
    return device_id


def _integer(value: str) -> int:
    if _DECIMAL.fullmatch(value) is None:
        raise ValueError("is not a decimal number of at most 18 digits")
    return int(value)


_text: Final = str
_raw_id: Final = _checked(str, is_raw_id, "is not 1 and 32 hex digits")
_name: Final = _checked(str, is_name, "is not a name")
_attributes: Final = _checked(str, are_attributes, "is not what a device's attributes are")
_gateway_id: Final = _checked(str, is_device_id, "is not a device id")
_sha256: Final = _checked(str, _SHA256.fullmatch, "is not 64 hex digits")
_lane: Final = _one_of(Lane)
_bulk_cause: Final = _one_of(BulkCause)
_count: Final = _checked(_integer, lambda one: one >= 0, "is negative")
_attempt: Final = _checked(_count, bool, "is not 1 or more")
_TOO_HIGH: Final = f"is over {REVISION_MAX}, the largest CloudEvents Integer"
_revision: Final = _checked(_count, lambda one: one <= REVISION_MAX, _TOO_HIGH)
_arrival_millis: Final = _checked(_count, lambda one: one <= MILLIS_MAX, "is after the year 9999")

_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    ce.TYPE: _name,
    ce.LANE: _lane,
    ce.BULK_CAUSE: _bulk_cause,
    ce.ATTEMPT: _attempt,
    ce.SLOW_TRIES: _count,
    ce.DEVICE_TYPE: _name,
    ce.ATTRIBUTES: _attributes,
    ce.VIA: _gateway_id,
}
"""Headers whose value repeats from message to message; of the others any text is allowed."""
