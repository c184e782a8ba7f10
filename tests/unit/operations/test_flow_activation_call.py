"""How the function that puts flows into force is called: it runs once at a time."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clients.aws import AwsSettings
from operations.flows import publisher
from operations.flows.publisher import ActivationRefusedError, activate_by_function

BUSY = 429, {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded", "message": "Rate"}
DONE = 200, {"version": "f-1"}


@contextmanager
def function_answering(*answers: tuple[int, dict[str, str]]) -> Iterator[AwsSettings]:
    """A Lambda endpoint that answers in this order, and the last for ever."""
    left = list(answers)

    class Function(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, content = left.pop(0) if len(left) > 1 else left[0]
            body = json.dumps(content).encode()
            self.send_response(status)
            if status == BUSY[0]:
                self.send_header("x-amzn-ErrorType", "TooManyRequestsException")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Function) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield AwsSettings(
            endpoint_url=f"http://127.0.0.1:{server.server_port}",
            region_name="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",  # noqa: S106 - nobody's
        )
        server.shutdown()


@pytest.fixture(autouse=True)
def asked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_BUSY_EVERY_S", 0.01)


def test_a_publication_waits_while_another_team_s_is_put_into_force() -> None:
    with function_answering(BUSY, BUSY, DONE) as aws:
        assert activate_by_function(aws, "activation", ["acme"]) == "f-1"


def test_a_function_that_stays_busy_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_ANSWER_TIMEOUT_S", 1)

    with (
        function_answering(BUSY) as aws,
        pytest.raises(ActivationRefusedError, match=r"acme.*activation.*TooManyRequests"),
    ):
        activate_by_function(aws, "activation", ["acme"])
