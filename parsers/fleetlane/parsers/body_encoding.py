"""Undoes the compression that a device declares, within a cap on what comes out."""

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from backports import zstd

from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.parsers.contract import MalformedMessage

PARTS_MAX: Final = 100
"""Gzip members or zstd frames in one body."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_ZSTD_WINDOW: Final[Mapping[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}
"""The logarithm of 8 MiB, which RFC 8878 asks of every decoder; allocated at once."""


class BodyTooLargeError(FleetlaneError):
    """The body inflates to more than is allowed. What it would come to is never known."""

    reason = ParkedReason.TOO_LARGE.value
    encoding: str
    limit_bytes: int
    sentence = "{encoding} body inflates to more than {limit_bytes} bytes, the limit"


def decoded_body(body: bytes, encoding: str | None, *, bytes_max: int) -> bytes:
    """Return ``body`` without its ``encoding``: gzip, deflate, zstd, or ``None`` for as it is.

    Inflates no more than ``bytes_max``, and needs about twice that in memory. Several gzip
    members or zstd frames one after another are one body, as their RFCs say, up to ``PARTS_MAX``;
    anything else behind the end is refused, padding too. ``deflate`` is what HTTP means by it:
    in zlib's format, with its checksum, and once. A zstd window has at most 8 MiB.

    Raises:
        MalformedMessage: It is not in that encoding, is cut or damaged, or something follows it;
            or the encoding is unknown.
        BodyTooLargeError: It inflates to more than ``bytes_max``.
    """
    if encoding is None:
        return body
    if encoding not in _ENCODINGS:
        allowed = ", ".join(_ENCODINGS)
        raise MalformedMessage(f"body encoding {encoding!r:.80}; allowed: {allowed}")
    try:
        return _inflated(body, encoding, bytes_max)
    except (zlib.error, zstd.ZstdError) as error:
        raise MalformedMessage(f"not {encoding}: {error}") from None


def _inflated(body: bytes, encoding: str, bytes_max: int) -> bytes:
    new_inflater, parts_max = _ENCODINGS[encoding]
    parts: list[bytes] = []
    room_bytes, rest = bytes_max, body
    while rest or not parts:
        if len(parts) == parts_max:
            raise MalformedMessage(f"{len(rest)} bytes follow the {encoding} body; allowed: none")
        inflater = new_inflater()
        part: bytes = inflater.decompress(rest, room_bytes + 1)  # 0 would mean: without limit
        if len(part) > room_bytes:
            raise BodyTooLargeError(encoding, bytes_max)
        if not inflater.eof:
            raise MalformedMessage(f"{encoding} body is cut after {len(body)} bytes")
        parts.append(part)
        room_bytes, rest = room_bytes - len(part), inflater.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


_ENCODINGS: Final[Mapping[str, tuple[Callable[[], Any], int]]] = {
    "gzip": (partial(zlib.decompressobj, _GZIP_WINDOW), PARTS_MAX),
    "deflate": (zlib.decompressobj, 1),
    "zstd": (partial(zstd.ZstdDecompressor, options=_ZSTD_WINDOW), PARTS_MAX),
}
"""What inflates one member or frame, and how many of them a body may have. Inflaters of both
libraries have ``decompress``, ``eof`` and ``unused_data``."""
