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
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue

from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException

type Invocation = tuple[bytes, dict[str, str]]
"""The event, and the Runtime API's headers about the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a function gave, or the error that it failed with; JSON either way."""

    body: bytes
    is_error: bool


class FunctionProcess(ThreadingHTTPServer):
    """The process, and the server that it asks for work, one invocation at a time.

    Runs from the moment it is made until it is killed, fails, or LocalStack ends. It is in
    LocalStack's process group, and ends when the runtime API no longer answers.
    """

    def __init__(
        self, folder: Path, handler: str, environment: Mapping[str, str], *, log_path: Path
    ) -> None:
        """Start ``module.function`` of the unpacked bundle in ``folder``; does not wait.

        All that it prints is added to ``log_path``.
        """
        super().__init__(("127.0.0.1", 0), _RuntimeApi)
        self.work: SimpleQueue[Invocation | None] = SimpleQueue()
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        self._start_error: Future[bytes | None] = Future()
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the code that was deployed
                [sys.executable, "-m", "awslambdaric", handler],
                cwd=folder,
                env=_environment(folder, environment, f"127.0.0.1:{self.server_port}"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        for task in (self.serve_forever, self._watch):
            threading.Thread(target=task, daemon=True).start()

    def wait_ready(self) -> None:
        """Wait until the process asks for its first invocation.

        Raises ``StatusErrorException`` where it ended, or could not import its handler, before.
        """
        if (error := self._start_error.result()) is not None:
            raise StatusErrorException("the function did not start", payload=error)

    def begun(self, error: bytes | None = None) -> None:
        """Note that it asked for work, or the error that it failed with before it ever did."""
        with suppress(InvalidStateError):  # it has begun before
            self._start_error.set_result(error)

    def invoke(self, invocation: Invocation, *, timeout_s: float) -> Answer:
        """Hand an invocation to the process and wait for what becomes of it, or of the process.

        Raises ``TimeoutError`` where nothing came in time; the process is then of no use any more.
        """
        self.work.put(invocation)
        try:
            return self.answers.get(timeout=timeout_s)
        except Empty:
            raise TimeoutError from None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it by SIGKILL, as Lambda ends an environment that has no extension."""
        self._process.kill()
        self._process.wait()

    def _watch(self) -> None:
        status = self._process.wait()
        message = f"Error: Runtime exited with error: exit status {status}"
        end = Answer(body=error_json("Runtime.ExitError", message), is_error=True)
        self.begun(end.body)
        self.answers.put(end)
        self.work.put(None)
        self.shutdown()
        self.server_close()


class _RuntimeApi(BaseHTTPRequestHandler):
    server: FunctionProcess
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """``/2018-06-01/runtime/invocation/next``: blocks until there is work."""
        self.server.begun()
        invocation = self.server.work.get()
        if invocation is None:  # the process is gone
            self.close_connection = True
        else:
            self._answer(HTTPStatus.OK, *invocation)

    def do_POST(self) -> None:
        """``…/init/error``, ``…/invocation/<id>/response`` or ``…/invocation/<id>/error``."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(HTTPStatus.ACCEPTED, b'{"status":"OK"}', {})
        *_, subject, kind = self.path.split("/")
        if subject == "init":
            self.server.begun(body)
        else:
            self.server.answers.put(Answer(body=body, is_error=kind == "error"))

    def log_message(self, *_: object) -> None:
        """Say nothing: a line for each request helps nobody."""

    def _answer(self, status: HTTPStatus, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in (named | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def error_json(kind: str, message: str) -> bytes:
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
