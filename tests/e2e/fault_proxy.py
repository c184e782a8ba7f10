"""A server in front of another, which passes bytes on; or answers 500, or hangs, or refuses."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, Final, Self
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
    """On a port of its own, in a thread of its own; a context manager. Knows just enough of HTTP.

    ``upstream`` gives the URL of the server behind it, asked at each connection.
    """

    def __init__(self, upstream: Callable[[], str]) -> None:
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._failure: Failure | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def failing(self, failure: Failure) -> Iterator[None]:
        """Fail so for the block, from the first byte on; connections are cut before and after."""
        self._call(self._switched(failure))
        try:
            yield
        finally:
            self._call(self._switched(None))

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._served, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _switched(self, failure: Failure | None) -> None:
        await self._close()
        self._failure = failure
        if failure is not Failure.REFUSES:
            await self._listen()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._answered(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with contextlib.suppress(asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
            await task
        writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match self._failure:
            case None:
                await self._passed_on(reader, writer)
            case Failure.ANSWERS_500:
                await _request_read(reader)
                writer.write(_ERROR)
                await writer.drain()
            case _:
                await reader.read()

    async def _passed_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = urlsplit(self._upstream())
        behind, to_behind = await asyncio.open_connection(address.hostname, address.port)
        try:
            await asyncio.wait(
                [
                    asyncio.create_task(_copied(reader, to_behind)),
                    asyncio.create_task(_copied(behind, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            to_behind.transport.abort()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()


async def _request_read(reader: asyncio.StreamReader) -> None:
    """Read one request: who answers before it came is not heard."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = next(
        (line for line in head.split(b"\r\n") if line.startswith(b"content-length:")), b":0"
    )
    await reader.readexactly(int(length.split(b":")[1]))
