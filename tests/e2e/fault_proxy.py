"""A server in front of another, which passes bytes on; or answers 500, or hangs, or refuses."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import BinaryIO, Final, Self
from urllib.parse import urlsplit

_CHUNK_BYTES: Final = 64 * 1024
_ERROR: Final = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/xml\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


class Failure(Enum):
    """How a server fails."""

    ANSWERS_500 = auto()
    HANGS = auto()
    REFUSES = auto()


class FaultProxy:
    """On a port of its own, in threads of its own; a context manager. Knows just enough of HTTP.

    ``upstream`` gives the URL of the server behind it, asked at each connection.
    """

    def __init__(self, upstream: Callable[[], str]) -> None:
        self._upstream = upstream
        self._failure: Failure | None = None
        self._port = 0
        self._listener: socket.socket | None = None
        self._accepting: threading.Thread | None = None
        self._changing = threading.Lock()
        self._open: set[socket.socket] = set()
        self._serving: set[threading.Thread] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def failing(self, failure: Failure) -> Iterator[None]:
        """Fail so for the block, from the first byte on; connections are cut before and after."""
        self._switch(failure)
        try:
            yield
        finally:
            self._switch(None)

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _switch(self, failure: Failure | None) -> None:
        self._close()
        self._failure = failure
        if failure is not Failure.REFUSES:
            self._listen()

    def _listen(self) -> None:
        listener = self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, args=(listener,), daemon=True)
        self._accepting.start()

    def _close(self) -> None:
        """Cut all connections; returns once nobody serves one any more."""
        if self._listener is not None and self._accepting is not None:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who waits in accept
            self._accepting.join()
            self._listener.close()
            self._listener = None
        with self._changing:
            serving = tuple(self._serving)
            for connection in self._open:
                _cut(connection)
        for thread in serving:
            thread.join()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # closed
            thread = threading.Thread(target=self._served, args=(connection,), daemon=True)
            with self._changing:
                self._open.add(connection)
                self._serving.add(thread)
            thread.start()

    def _served(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError, ValueError):
                self._answered(connection)
        finally:
            with self._changing:
                self._open.discard(connection)
                self._serving.discard(threading.current_thread())

    def _answered(self, connection: socket.socket) -> None:
        match self._failure:
            case None:
                self._pass_on(connection)
            case Failure.ANSWERS_500:
                with connection.makefile("rb") as request:
                    _read(request)
                connection.sendall(_ERROR)
            case _:
                while connection.recv(_CHUNK_BYTES):
                    pass

    def _pass_on(self, connection: socket.socket) -> None:
        address = urlsplit(self._upstream())
        with socket.create_connection((address.hostname, address.port)) as behind:
            there = threading.Thread(target=_copy, args=(connection, behind), daemon=True)
            there.start()
            _copy(behind, connection)
            there.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until either side ends; then both do."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            target.sendall(chunk)
    _cut(source)
    _cut(target)


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _read(request: BinaryIO) -> None:
    """Read one request: an answer before it came is not read."""
    length = 0
    while line := request.readline().strip().lower():
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    request.read(length)
