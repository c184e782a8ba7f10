"""Wrong answers of S3 are the message's fault, or an outage that may be over soon."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from botocore.config import Config

from clients.aws import AwsSettings, s3_client
from clients.s3.payload_bucket import (
    PayloadBucket,
    PayloadCorruptError,
    PayloadMissingError,
    PayloadUnavailableError,
)
from fleetlane.events.envelope import PayloadReference

BODY = bytes(range(256)) * 4096
REFERENCE = PayloadReference(key="payloads/x", sha256=hashlib.sha256(BODY).hexdigest())
SILENT_S = 0.3
NO_SUCH_KEY = b"<Error><Code>NoSuchKey</Code></Error>"

type Answer = Callable[[BaseHTTPRequestHandler], None]
type Scripted = Callable[..., PayloadBucket]


def _status(status: int, body: bytes = b"") -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def _breaking_off(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(BODY)))
    request.end_headers()
    request.wfile.write(BODY[:1000])
    request.close_connection = True


def _hanging(over: threading.Event) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(BODY)))
        request.end_headers()
        over.wait(60)

    return answer


def _dripping(over: threading.Event) -> Answer:
    """A piece now and then: no silence is ever long enough for the client to give up."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(BODY)))
        request.end_headers()
        for begin in range(0, len(BODY), len(BODY) // 64):
            request.wfile.write(BODY[begin : begin + len(BODY) // 64])
            if over.wait(SILENT_S / 10):
                return

    return answer


@pytest.fixture
def over() -> Iterator[threading.Event]:
    over = threading.Event()
    yield over
    over.set()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, over: threading.Event) -> Iterator[Scripted]:
    """Make a bucket that gives these answers, and the last one ever after."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    servers: list[ThreadingHTTPServer] = []

    def start(
        *answers: Answer, body_s_max: float = 30, read_timeout_s: float = SILENT_S
    ) -> PayloadBucket:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answers))
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        settings = AwsSettings(
            endpoint_url=f"http://127.0.0.1:{server.server_port}", region_name="eu-central-1"
        )
        config = Config(
            connect_timeout=5,
            read_timeout=read_timeout_s,
            retries={"total_max_attempts": 2, "mode": "standard"},
            response_checksum_validation="when_required",
        )
        return PayloadBucket(s3_client(settings, config=config), "payloads", body_s_max=body_s_max)

    yield start
    over.set()
    for server in servers:
        server.shutdown()
        server.server_close()


def _handler(answers: Sequence[Answer]) -> type[BaseHTTPRequestHandler]:
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            (left.pop(0) if len(left) > 1 else left[0])(self)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - http.server's name

    return Handler


def fetched(bucket: PayloadBucket) -> bytes:
    return bucket.get(REFERENCE, body_bytes=len(BODY), bytes_max=len(BODY))


def test_an_s3_that_fails_once_is_asked_again(scripted: Scripted) -> None:
    bucket = scripted(_status(503), _status(200, BODY))

    body = fetched(bucket)

    assert body == BODY


@pytest.mark.parametrize("status", [500, 503, 403])
def test_an_s3_that_fails_or_refuses_is_an_outage(scripted: Scripted, status: int) -> None:
    bucket = scripted(_status(status))

    with pytest.raises(PayloadUnavailableError):
        fetched(bucket)


def test_a_404_is_a_missing_payload(scripted: Scripted) -> None:
    bucket = scripted(_status(404, NO_SUCH_KEY))

    with pytest.raises(PayloadMissingError):
        fetched(bucket)


@pytest.mark.parametrize("altered", [BODY[::-1], BODY[1:]], ids=["digest", "size"])
def test_other_bytes_are_a_corrupt_payload(scripted: Scripted, altered: bytes) -> None:
    bucket = scripted(_status(200, altered))

    with pytest.raises(PayloadCorruptError):
        fetched(bucket)


def test_a_body_that_breaks_off_is_an_outage_and_no_corrupt_payload(scripted: Scripted) -> None:
    bucket = scripted(_breaking_off)

    with pytest.raises(PayloadUnavailableError):
        fetched(bucket)


def test_an_s3_that_falls_silent_is_an_outage(scripted: Scripted, over: threading.Event) -> None:
    bucket = scripted(_hanging(over))

    with pytest.raises(PayloadUnavailableError):
        fetched(bucket)


def test_a_body_that_drips_is_given_up(scripted: Scripted, over: threading.Event) -> None:
    bucket = scripted(_dripping(over), body_s_max=SILENT_S, read_timeout_s=5)

    with pytest.raises(PayloadUnavailableError, match=r"too slowly; the limit is 0\.3 s"):
        fetched(bucket)
