"""A worker serves several lanes, and reads the flows in force once for all of them."""

import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clients.flows.store import FlowsUnavailableError
from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane import parse
from tests.unit.glue_jobs.conftest import message_of, raw_batch, record_of
from tests.unit.glue_jobs.lane_arguments import lane_arguments

CACHES = (parse.s3_clients, parse.flows_in_force, parse.lane_parser_of)


class RefusingS3(ThreadingHTTPServer):
    """Refuses everything, for good, and knows what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.asked = list[str]()


class _Refusal(BaseHTTPRequestHandler):
    server: RefusingS3

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - http.server's name


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[RefusingS3]:
    with RefusingS3() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        for cached in CACHES:
            cached.cache_clear()
        yield server
        for cached in CACHES:
            cached.cache_clear()
        server.shutdown()


def test_s3_is_asked_for_the_flows_once_however_many_lanes_need_them(s3: RefusingS3) -> None:
    asked = list[int]()
    for lane in (Lane.STANDARD, Lane.BULK, Lane.SLOW):
        lane_parser = parse.lane_parser_of(lane_arguments(lane))
        lane_parser.begin_batch()
        with pytest.raises(FlowsUnavailableError):
            list(lane_parser.outputs_of(raw_batch([record_of(message_of(b"{}"))])))
        asked.append(len(s3.asked))

    assert asked == [1, 1, 1]
