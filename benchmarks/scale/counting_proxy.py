"""A server in front of LocalStack that passes bytes on, and counts requests by what they ask.

A process of its own, so that nobody waits while others of ours compute. A few times a second it
writes what it has counted into a file.
"""

import argparse
import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from benchmarks.scale.counts import keep_writing
from fleetlane.events.s3_keys import ARCHIVED_BODIES, PAYLOADS
from local.checkout import ROOT
from local.servers.ports import free_port
from local.servers.processes import ServerProcess
from operations.endpoints import LAKE_BUCKET, PAYLOAD_BUCKET

REGISTRY_READ: Final = "registry_read"
PAYLOAD: Final = "payload"
PAYLOAD_COPY: Final = "payload_copy"

_CHUNK_BYTES: Final = 64 * 1024
_HEAD_END: Final = b"\r\n\r\n"
_READ: Final = "DynamoDB_20120810.GetItem"


class Request(NamedTuple):
    """The head of a request; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


def request_of(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return Request(method, path, {name.lower(): value.strip() for name, _, value in pairs})


def kind_of(request: Request) -> str | None:
    """What a request counts as, if it counts."""
    if request.headers.get("x-amz-target") == _READ:
        return REGISTRY_READ
    path = urlsplit(request.path).path
    if path.startswith(f"/{PAYLOAD_BUCKET}/{PAYLOADS}"):
        return PAYLOAD
    if path.startswith(f"/{LAKE_BUCKET}/{ARCHIVED_BODIES}"):
        return PAYLOAD_COPY
    return None


class CountingProxy:
    """On a port of its own of 127.0.0.1, in a thread of its own; a context manager.

    ``upstream`` gives the URL of the server behind it, asked at each connection.
    """

    def __init__(self, upstream: Callable[[], str], *, port: int = 0) -> None:
        self._upstream, self._port = upstream, port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._connections = set[asyncio.Task[None]]()
        self.counted = Counter[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._accepted, "127.0.0.1", self._port)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _ended(self) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._loop.create_task(self._served(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = urlsplit(self._upstream())
        try:
            answers, behind = await asyncio.open_connection(address.hostname, address.port)
        except OSError:
            writer.close()
            return
        answering = asyncio.create_task(_copied(answers, writer))
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._requests(reader, behind)
        finally:
            behind.close()
            writer.close()
            answering.cancel()

    async def _requests(self, reader: asyncio.StreamReader, behind: asyncio.StreamWriter) -> None:
        """Pass on one request after the other, until there are no more."""
        while True:
            head = await reader.readuntil(_HEAD_END)
            request = request_of(head)
            kind = kind_of(request)
            if kind is not None:
                self.counted[kind] += 1
            behind.write(head)
            if request.headers.get("transfer-encoding", "").lower() == "chunked":
                await _chunks_passed_on(reader, behind)
            else:
                await _passed_on(reader, behind, int(request.headers.get("content-length", 0)))
            await behind.drain()


async def _passed_on(
    reader: asyncio.StreamReader, behind: asyncio.StreamWriter, left_bytes: int
) -> None:
    await behind.drain()
    while left_bytes:
        chunk = await reader.read(min(left_bytes, _CHUNK_BYTES))
        if not chunk:
            raise asyncio.IncompleteReadError(b"", left_bytes)
        behind.write(chunk)
        await behind.drain()
        left_bytes -= len(chunk)


async def _chunks_passed_on(reader: asyncio.StreamReader, behind: asyncio.StreamWriter) -> None:
    chunk_bytes = -1
    while chunk_bytes:
        line = await reader.readuntil(b"\r\n")
        behind.write(line)
        chunk_bytes = int(line.partition(b";")[0], 16)
        await _passed_on(reader, behind, chunk_bytes + len(b"\r\n"))


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until the source ends; then the target does."""
    with suppress(OSError):
        while chunk := await source.read(_CHUNK_BYTES):
            target.write(chunk)
            await target.drain()
    target.close()


class ProxyProcess(ServerProcess):
    """A ``CountingProxy`` in ``folder``; ``upstream_port`` is the file of the port behind it."""

    def __init__(self, folder: Path, *, upstream_port: Path) -> None:
        self._file, port = folder / "requests.json", free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--upstream", str(upstream_port), "--file", str(self._file)]
        super().__init__(
            "Counting proxy",
            [sys.executable, "-m", "benchmarks.scale.counting_proxy", *options],
            log_path=folder / "proxy.log",
            cwd=ROOT,
        )

    def counted(self) -> Counter[str]:
        """What was counted ``WRITTEN_EVERY_S`` ago."""
        return Counter(msgspec.json.decode(self._file.read_bytes(), type=dict[str, int]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--upstream", type=Path, required=True)
    arguments.add_argument("--file", type=Path, required=True)
    given = arguments.parse_args()
    port: Path = given.upstream
    with CountingProxy(
        lambda: f"http://127.0.0.1:{port.read_text().strip()}", port=given.port
    ) as proxy:
        keep_writing(given.file, lambda: proxy.counted)


if __name__ == "__main__":
    main()
