"""Names of streams, device types and devices; ids of messages and events."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from typing import Final

from fleetlane.events.errors import FleetlaneError

NAME_PATTERN: Final = "[a-z][a-z0-9-]{0,47}"
DEVICE_ID_PATTERN: Final = "[A-Za-z0-9._-]{1,64}"

NAME: Final = re.compile(NAME_PATTERN)
DEVICE_ID: Final = re.compile(DEVICE_ID_PATTERN)


class BadNameError(FleetlaneError):
    """A stream, device type or device id is outside its pattern."""

    kind: str
    value: str
    pattern: str
    sentence = "{kind} {value!r:.80} does not match {pattern}"


def is_name(value: str) -> bool:
    return NAME.fullmatch(value) is not None


def is_device_id(value: str) -> bool:
    return DEVICE_ID.fullmatch(value) is not None


def checked_name(value: str, *, kind: str) -> str:
    """Return ``value``, which names a ``kind`` ("stream"); raises ``BadNameError``."""
    if not is_name(value):
        raise BadNameError(kind, value, NAME_PATTERN)
    return value


def checked_device_id(value: str) -> str:
    """Return ``value``, a device id; raises ``BadNameError``."""
    if not is_device_id(value):
        raise BadNameError("device id", value, DEVICE_ID_PATTERN)
    return value


RAW_ID_PATTERN: Final = "1[0-9a-f]{32}"
_RAW_ID = re.compile(RAW_ID_PATTERN)


def hashed_id(fields: Iterable[bytes]) -> str:
    """``1`` and 32 hex digits: BLAKE2b-128 of the fields.

    Each field is prefixed by its length in four bytes, big-endian, so that no two different lists
    of fields are hashed alike.
    """
    prefixed = b"".join([len(field).to_bytes(4, "big") + field for field in fields])
    return f"1{hashlib.blake2b(prefixed, digest_size=16).hexdigest()}"


def raw_id_of(
    device_id: str,
    stream: str,
    idempotency_key: str | None,
    body_sha256: Callable[[], bytes],
    *,
    dedupes_by_content: bool,
) -> str:
    """Give a message its id. Two of a stream are the same one by a key, their bytes, or never.

    The digest is asked for only where it counts.
    """
    if idempotency_key is not None:
        return keyed_raw_id(device_id, stream, idempotency_key, body_sha256())
    return (
        content_raw_id(device_id, stream, body_sha256()) if dedupes_by_content else random_raw_id()
    )


def keyed_raw_id(device_id: str, stream: str, idempotency_key: str, body_sha256: bytes) -> str:
    """Id of a message sent with an ``Idempotency-Key``: the same key with other bytes differs."""
    return hashed_id((device_id.encode(), stream.encode(), idempotency_key.encode(), body_sha256))


def content_raw_id(device_id: str, stream: str, body_sha256: bytes) -> str:
    return hashed_id((device_id.encode(), stream.encode(), body_sha256))


def random_raw_id() -> str:
    return f"1{os.urandom(16).hex()}"


CANDIDATES_MAX: Final = 10


class AmbiguousIdError(FleetlaneError):
    """Several ids begin like the one that was given."""

    given: str
    ids: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.ids[:CANDIDATES_MAX])
        more = " and more" if len(self.ids) > CANDIDATES_MAX else ""
        return f"several ids begin with {self.given!r}: {shown}{more}; give more of one"


def the_id(given: str, known: Iterable[str]) -> str | None:
    """The known id that is given, or else the only one that begins so; ``None`` where none does.

    Raises ``AmbiguousIdError`` where several do.
    """
    found = set[str]()
    for one in known:
        if one == given:
            return one
        if len(found) <= CANDIDATES_MAX and one.startswith(given):
            found.add(one)
    if len(found) > 1:
        raise AmbiguousIdError(given, tuple(sorted(found)))
    return next(iter(found), None)


def is_raw_id(value: str) -> bool:
    return _RAW_ID.fullmatch(value) is not None


LAKE_DATABASE: Final = "fleetlane"
"""Of the lake's tables on a laptop; a stage has its own."""

COMMON_AUDIENCE: Final = "fleetlane"
"""What tokens were for before each stage had an audience of its own."""


def audience_of(stage: str) -> str:
    """What a token for a stage names as ``aud``: one for another stage proves nothing there."""
    return f"{COMMON_AUDIENCE}-{stage}"
