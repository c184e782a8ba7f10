"""A function's code in a process of its own, under AWS's runtime for Python.

That asks for work over the Lambda Runtime API (2018-06-01), on 127.0.0.1.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue

_STOP_GRACE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What a function is called with; ``headers`` are the Runtime API's, about the request."""

    event: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a function gave, or the error that it failed with; JSON either way."""

    body: bytes
    is_error: bool


class FunctionDidNotStartError(Exception):
    """The process ended, or its handler could not be imported, before it asked for work."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self.body = body


class RuntimeApi:
    """A server that one process asks for work, one invocation at a time."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Invocation | None] = SimpleQueue()
        self._ready: Future[None] = Future()
        self._lock = threading.Lock()
        self._open: Future[Answer] | None = None
        self._end: Answer | None = None
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def wait_ready(self) -> None:
        """Wait until the process asks for its first invocation, or raise that it never will."""
        self._ready.result()

    def invoke(self, invocation: Invocation, *, timeout_s: float) -> Answer:
        """Hand an invocation to the process and wait for what becomes of it.

        Raises:
            TimeoutError: Nothing came in time. The process is still at it.
        """
        with self._lock:
            if self._end is not None:
                return self._end
            answer = self._open = Future()
        self._work.put(invocation)
        return answer.result(timeout_s)

    def next(self) -> Invocation | None:
        """Work for the process; blocks until there is some. None: there will be no more."""
        with self._lock:
            if not self._ready.done():
                self._ready.set_result(None)
        return self._work.get()

    def take(self, answer: Answer) -> None:
        """Give an answer to the caller that waits for it, if any."""
        with self._lock:
            if self._open is not None and not self._open.done():
                self._open.set_result(answer)

    def fail_start(self, body: bytes) -> None:
        with self._lock:
            if not self._ready.done():
                self._ready.set_exception(FunctionDidNotStartError(body))

    def close(self, end: Answer) -> None:
        """The process is gone: callers that wait, now or later, get ``end`` as their answer."""
        self.fail_start(end.body)
        with self._lock:
            self._end = end
        self.take(end)
        self._work.put(None)
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: RuntimeApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """``/2018-06-01/runtime/invocation/next``."""
        invocation = self.server.api.next()
        if invocation is None:  # the process is gone
            self.close_connection = True
        else:
            self._answer(HTTPStatus.OK, invocation.event, invocation.headers)

    def do_POST(self) -> None:
        """``…/init/error``, ``…/invocation/<id>/response`` or ``…/invocation/<id>/error``."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(HTTPStatus.ACCEPTED, b'{"status":"OK"}')
        *_, subject, kind = self.path.split("/")
        if subject == "init":
            self.server.api.fail_start(body)
        else:
            self.server.api.take(Answer(body=body, is_error=kind == "error"))

    def log_message(self, *_: object) -> None:
        """Say nothing: a line for each request helps nobody."""

    def _answer(
        self, status: HTTPStatus, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in (named | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class FunctionProcess(RuntimeApi):
    """Runs from the moment it is made until it is stopped, fails, or LocalStack ends.

    It is in LocalStack's process group, and ends when the runtime API no longer answers.
    """

    def __init__(
        self, folder: Path, handler: str, environment: Mapping[str, str], *, log_path: Path
    ) -> None:
        """Start ``module.function`` of the unpacked bundle in ``folder``; does not wait.

        All that it prints is added to ``log_path``.
        """
        super().__init__()
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the code that was deployed
                [sys.executable, "-m", "awslambdaric", handler],
                cwd=folder,
                env=_environment(folder, environment, self.address),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        threading.Thread(target=self._watch, daemon=True).start()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """End it by SIGTERM, and after a grace by SIGKILL."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _watch(self) -> None:
        status = self._process.wait()
        message = f"Error: Runtime exited with error: exit status {status}"
        self.close(Answer(body=error_json("Runtime.ExitError", message), is_error=True))


def error_json(kind: str, message: str) -> bytes:
    """An error as Lambda writes it."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def _environment(folder: Path, environment: Mapping[str, str], api_address: str) -> dict[str, str]:
    """Nothing of LocalStack's own. The bundle's packages come before those of its interpreter."""
    return {
        **environment,
        "PATH": os.defpath,
        "LANG": "en_US.UTF-8",
        "TMPDIR": tempfile.gettempdir(),
        "TZ": "UTC",
        "PYTHONPATH": str(folder),
        "PYTHONUNBUFFERED": "1",
        "LAMBDA_TASK_ROOT": str(folder),
        "AWS_LAMBDA_RUNTIME_API": api_address,
    }
