"""Requests over a real connection."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from urllib3 import BaseHTTPResponse

from clients.device_api import NoAnswerError
from local.simulator.http_api import HttpApi


class EchoHandler(BaseHTTPRequestHandler):
    """Answers with what it was sent, and asks for another try in three seconds."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        content = f"{self.path} {self.headers['X-One']} {body!r}".encode()
        self.send_response(503)
        self.send_header("Retry-After", "3")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def echo() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), EchoHandler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def posted(server: ThreadingHTTPServer, body: bytes) -> BaseHTTPResponse:
    api = HttpApi(f"http://127.0.0.1:{server.server_port}", connections=1, timeout_s=5)
    with closing(api):
        return asyncio.run(api.post("/v1/streams/gps", body, {"X-One": "1"}))


@pytest.mark.parametrize("body", [b"", b"\x00\xff"])
def test_a_request_goes_over_the_wire_as_it_is(echo: ThreadingHTTPServer, body: bytes) -> None:
    answer = posted(echo, body)

    assert answer.data.decode() == f"/v1/streams/gps 1 {body!r}"
    assert (answer.status, answer.headers["Retry-After"]) == (503, "3")


def test_where_nobody_listens_no_answer_comes(echo: ThreadingHTTPServer) -> None:
    echo.shutdown()
    echo.server_close()

    with pytest.raises(NoAnswerError):
        posted(echo, b"")
