"""The HTTP API as devices reach it: kept-alive connections, one request at a time on each.

Python's own HTTP client in threads costs a tenth of what an async client with a pool of
connections does, and the fleet shares its cores with the whole platform.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import urlsplit

from clients.device_api import NoAnswerError

_IDLE_S_MAX: Final = 3.0
"""Servers close connections that are idle for longer; a device opens a new one."""

_TIMEOUT_S: Final = 35.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer. ``retry_after_s`` as the API asks for."""

    status: int
    content: bytes
    retry_after_s: float | None = None


class HttpApi:
    """Posts over at most so many connections; waits for a free one. Close it when done.

    ``url`` is where ``/v1/…`` is, which may be below a path.
    """

    def __init__(self, url: str, *, connections: int = 64, timeout_s: float = _TIMEOUT_S) -> None:
        self._server, self._timeout_s = urlsplit(url), timeout_s
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="device")
        self._of_thread = threading.local()

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send one request.

        Raises:
            NoAnswerError: The connection failed, or nothing came in time.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._posted, path, body, headers)

    def close(self) -> None:
        """Send no more requests; does not wait for answers."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _posted(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        connection = self._connection()
        try:
            connection.request("POST", self._server.path + path, body, dict(headers))
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as problem:
            connection.close()
            raise NoAnswerError(path, repr(problem)) from None
        asked = response.headers.get("Retry-After", "")
        return HttpAnswer(
            status=response.status,
            content=content,
            retry_after_s=float(asked) if asked.isdecimal() else None,
        )

    def _connection(self) -> HTTPConnection:
        """This thread's own; it connects by itself where it is closed."""
        ours, now_s = self._of_thread, time.monotonic()
        if not hasattr(ours, "connection"):
            host, port = self._server.hostname or "", self._server.port
            ours.connection = HTTPConnection(host, port, timeout=self._timeout_s)
        elif now_s - ours.used_s > _IDLE_S_MAX:
            ours.connection.close()
        ours.used_s = now_s
        connection: HTTPConnection = ours.connection
        return connection
