"""The HTTP API as devices reach it: kept-alive connections, one request at a time on each.

urllib3 in threads costs a fraction of what an async client with a pool of connections does, and the
fleet shares its cores with the whole platform.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from urllib3 import BaseHTTPResponse, PoolManager
from urllib3.exceptions import HTTPError

from clients.device_api import NoAnswerError


class HttpApi:
    """Posts over at most so many connections; waits for a free one. Close it when done.

    ``url`` is where ``/v1/…`` is, which may be below a path.
    """

    def __init__(self, url: str, *, connections: int = 64, timeout_s: float = 35.0) -> None:
        self._url = url
        self._pool = PoolManager(maxsize=connections, retries=False, timeout=timeout_s)
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="device")

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> BaseHTTPResponse:
        """Send one request; raises ``NoAnswerError`` if it fails, or nothing comes in time."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._posted, path, body, headers)

    def close(self) -> None:
        """Send no more requests; does not wait for answers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.clear()

    def _posted(self, path: str, body: bytes, headers: Mapping[str, str]) -> BaseHTTPResponse:
        try:
            return self._pool.request("POST", self._url + path, body=body, headers=headers)
        except HTTPError as problem:
            raise NoAnswerError(path, repr(problem)) from None
