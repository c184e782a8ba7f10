"""A lane's copies of payloads have as long as S3 takes for large ones."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fleetlane.events.envelope import PayloadReference
from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane.parse import payloads_of, s3_clients
from tests.unit.glue_jobs.lane_arguments import lane_arguments

COPY_S = 2.5
COPIED = b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"
ARGUMENTS = lane_arguments(Lane.SLOW)


class SlowCopies(BaseHTTPRequestHandler):
    """An S3 that takes its time for a copy."""

    def do_PUT(self) -> None:
        time.sleep(COPY_S)
        self.send_response(200)
        self.send_header("Content-Length", str(len(COPIED)))
        self.end_headers()
        self.wfile.write(COPIED)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - http.server's name


@pytest.fixture
def slow_copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), SlowCopies) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        s3_clients.cache_clear()
        yield
        s3_clients.cache_clear()
        server.shutdown()


@pytest.mark.usefixtures("slow_copies")
def test_a_copy_that_takes_longer_than_a_read_may_is_waited_for() -> None:
    payloads = payloads_of(ARGUMENTS)

    kept = payloads.kept(PayloadReference(key="payloads/1", sha256="0" * 64))

    assert kept.key == "parked/payloads/1"
