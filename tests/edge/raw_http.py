"""Requests as no HTTP client would send them, byte by byte."""

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT_S: Final = 30.0
_TAG_PREFIX: Final = "urn:fleetlane:problem:"

type Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """An answer; a ``status`` of ``None`` where the connection was closed without one."""

    status: int | None
    tag: str = ""


def request(
    token: str,
    *,
    path: bytes = b"/v1/streams/diagnostics",
    body: bytes = b"",
    headers: Iterable[Header] = (),
    content_length: bytes | None = None,
) -> bytes:
    """Write a POST; without ``content_length`` the body's own is sent."""
    told = str(len(body)).encode() if content_length is None else content_length
    lines = [
        b"POST " + path + b" HTTP/1.1",
        b"Host: local",
        b"Authorization: Bearer " + token.encode(),
        b"Connection: close",
        *(name + b": " + value for name, value in headers),
        b"Content-Length: " + told,
    ]
    return b"\r\n".join([*lines, b"", body])


def answer_to(api: str, sent: bytes, *, hang_up: bool = False) -> RawAnswer:
    """Send bytes and read the first answer; with ``hang_up``, end what we send before that."""
    place = urlsplit(api)
    with socket.create_connection((place.hostname or "", place.port or 0), _TIMEOUT_S) as line:
        try:
            line.sendall(sent)
            if hang_up:
                line.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has answered, and takes no more
        return _answer(_read(line))


def _read(line: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := line.recv(65_536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def _answer(received: bytes) -> RawAnswer:
    head, _, body = received.partition(b"\r\n\r\n")
    if not head:
        return RawAnswer(status=None)
    status = int(head.split()[1])
    if b"application/problem+json" not in head.lower():
        return RawAnswer(status=status)
    kind = str(json.JSONDecoder().raw_decode(body.decode())[0]["type"])
    return RawAnswer(status=status, tag=kind.removeprefix(_TAG_PREFIX))
