"""Ids of messages and events: equal content gives equal ids where a flow wants that."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

RAW_ID_PATTERN: Final = "1[0-9a-f]{32}"
_RAW_ID = re.compile(RAW_ID_PATTERN)


def hashed_id(fields: Iterable[bytes]) -> str:
    """``1`` and 32 hex digits: BLAKE2b-128 of the fields.

    Each field is prefixed by its length in four bytes, big-endian, so that no two different lists
    of fields are hashed alike.
    """
    prefixed = b"".join([len(field).to_bytes(4, "big") + field for field in fields])
    return f"1{hashlib.blake2b(prefixed, digest_size=16).hexdigest()}"


class RawIdRule(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two messages of a device's stream the same one: a key, their bytes, or nothing."""

    device_id: str
    stream: str
    idempotency_key: str | None
    dedupes_by_content: bool

    def raw_id(self, body_sha256: Callable[[], bytes]) -> str:
        """Give a message its id; its digest is asked for only where it counts."""
        if self.idempotency_key is not None:
            return keyed_raw_id(self.device_id, self.stream, self.idempotency_key, body_sha256())
        if self.dedupes_by_content:
            return content_raw_id(self.device_id, self.stream, body_sha256())
        return random_raw_id()


def keyed_raw_id(device_id: str, stream: str, idempotency_key: str, body_sha256: bytes) -> str:
    """Id of a message sent with an ``Idempotency-Key``: the same key with other bytes differs."""
    return hashed_id((device_id.encode(), stream.encode(), idempotency_key.encode(), body_sha256))


def content_raw_id(device_id: str, stream: str, body_sha256: bytes) -> str:
    """Id of a message whose flow dedupes by content."""
    return hashed_id((device_id.encode(), stream.encode(), body_sha256))


def random_raw_id() -> str:
    return f"1{os.urandom(16).hex()}"


def is_raw_id(value: str) -> bool:
    return _RAW_ID.fullmatch(value) is not None
