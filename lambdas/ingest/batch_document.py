"""A CloudEvents JSON batch, taken apart: many messages in one document, each with its own bytes."""

import base64
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE, SOURCE_PREFIX, Declared
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import DEVICE_ID_PATTERN, NAME, NAME_PATTERN
from lambdas.http import device_request

ENTRIES_MAX: Final = 500

_JSON: Final = "application/json"
_STREAM: Final = device_request.Rule(pattern=NAME, allowed=NAME_PATTERN)
_SOURCE: Final = device_request.Rule(
    pattern=re.compile(SOURCE_PREFIX + DEVICE_ID_PATTERN), allowed=SOURCE_PREFIX + DEVICE_ID_PATTERN
)

type _Members = Mapping[str, msgspec.Raw]


class BatchTooLongError(FleetlaneError):
    """A batch has too many entries. Nothing of it is landed."""

    reason = "too_large"
    entries: int
    sentence = f"the batch has {{entries}} entries; the limit is {ENTRIES_MAX} entries"


class BatchTooLargeError(FleetlaneError):
    """A batch has too many bytes. Nothing of it is landed."""

    reason = "too_large"
    size_bytes: int
    limit_bytes: int
    sentence = "the batch is {size_bytes} bytes; the limit is {limit_bytes} bytes: send it in parts"


class Entry(Declared, frozen=True, kw_only=True):
    """One message of a batch. ``device_id`` is a claim: whose message it may be, others decide."""

    device_id: str
    stream: str
    body: bytes
    idempotency_key: str


def entries_in(document: bytes) -> list[msgspec.Raw]:
    """Find the entries of a batch; none of them is read yet.

    Raises:
        BadRequestError: The document is no JSON array, or nested too deep.
        BatchTooLongError: It has more than ``ENTRIES_MAX`` entries.
    """
    entries = _read(msgspec.Raw(document), list[msgspec.Raw], "the batch is no JSON array")
    if len(entries) > ENTRIES_MAX:
        raise BatchTooLongError(len(entries))
    return entries


def entry_from(raw: msgspec.Raw) -> Entry:
    """Read an entry: a CloudEvent of version 1.0 in JSON; raises ``BadRequestError``.

    Its ``id`` is its idempotency key, its ``source`` the device, its ``type`` the stream.
    """
    members = _read(raw, dict[str, msgspec.Raw], "the entry is no JSON object")
    version = _required(members, "specversion")
    if version != "1.0":
        raise device_request.refusal("attribute specversion", version, "1.0")
    _required(members, "id")
    said = device_request.declared(
        device_request.ATTRIBUTES, partial(_text, members), "attribute {}".format
    )
    body, said["content_type"] = _data(members, said.get("content_type"))
    source = device_request.checked("attribute source", _required(members, "source"), _SOURCE)
    return Entry(
        device_id=source.removeprefix(SOURCE_PREFIX),
        stream=device_request.checked("attribute type", _required(members, "type"), _STREAM),
        body=body,
        **said,
    )


def _data(members: _Members, said: str | None) -> tuple[bytes, str]:
    """The message's very bytes, and their content type.

    ``data_base64`` gives the bytes that it encodes. ``data`` gives its JSON text as it is in
    the document, or, where the content type is not JSON, the UTF-8 of the text that it holds.
    Neither is an empty message.
    """
    encoded, data = members.get("data_base64"), members.get("data")
    if encoded is not None and data is not None:
        problem = "the entry has both data and data_base64; allowed: one of them"
        raise device_request.BadRequestError(problem)
    if encoded is not None:
        return _decoded(encoded), said or DEFAULT_CONTENT_TYPE
    content_type = said or _JSON
    if data is None:
        return b"", content_type
    if _is_json(content_type):
        return bytes(data), content_type
    text = _read(data, str, f"data is no text, and {content_type} is not JSON")
    return text.encode(), content_type


def _decoded(encoded: msgspec.Raw) -> bytes:
    text = _read(encoded, str, "data_base64 is no text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as problem:
        raise device_request.BadRequestError(f"data_base64 is not Base64: {problem}") from None


def _is_json(content_type: str) -> bool:
    """As CloudEvents 1.0 has it: the subtype is ``json``, or ends in ``+json``."""
    subtype = content_type.partition(";")[0].strip().lower().rpartition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def _required(members: _Members, name: str) -> str:
    value = _text(members, name)
    if value is None:
        raise device_request.BadRequestError(f"the entry has no {name}")
    return value


def _text(members: _Members, name: str) -> str | None:
    """An attribute; one that is null counts as absent."""
    raw = members.get(name)
    if raw is None or bytes(raw) == b"null":
        return None
    return _read(raw, str, f"attribute {name} is no text")


def _read[T](raw: msgspec.Raw, kind: type[T], otherwise: str) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise device_request.BadRequestError(f"{otherwise}: {problem}") from None
