"""docs/network-servers.md: its code is the example's, its commands run, the wrapper delivers."""

import base64
import importlib
import importlib.util
import json
import shlex
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final

import jwt
import pytest
from typer.testing import CliRunner, Result

from clients.device_api import DeviceKey
from clients.devices.registry import RegisteredDevice
from fleetlane.cli.main import app
from fleetlane.events.envelope_reading import message_from
from local.checkout import ROOT
from tests.readme.fences import fences_of
from tests.unit.lambdas.api_gateway import ingest_routes
from tests.unit.lambdas.cloud_events import post_batch
from tests.unit.lambdas.fakes import FakeDevices, FakeKafka

GUIDE: Final = (ROOT / "docs" / "network-servers.md").read_text()
EXAMPLE: Final = ROOT / "examples" / "network-server"
SENSOR: Final = "a84041000181c061"
SECRET: Final = "long-and-random"  # noqa: S105 - of this test alone
MAKERS: Final = bytes.fromhex("CBF60B0D0376010ADD7FFF")


def uplink(name: str = "the-things-stack") -> bytes:
    return (EXAMPLE / "samples" / f"{name}.bin").read_bytes()


@pytest.fixture(scope="module")
def wrapper() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wrapper", EXAMPLE / "wrapper.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def typed(command: str) -> Result:
    """A command of the guide, in the checkout's root."""
    return CliRunner().invoke(app, shlex.split(command)[1:])


@pytest.mark.parametrize("section", ["The wrapper", "The parser"])
def test_the_code_in_the_guide_is_the_examples(section: str) -> None:
    shown = [fence for fence in fences_of(GUIDE, section=section) if fence.language != "sh"]

    assert shown
    for fence in shown:
        assert fence.path is not None
        assert fence.text in (ROOT / fence.path).read_text()


def test_the_guides_commands_for_authors_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    author, deploy = (one for one in fences_of(GUIDE, section="The parser") if one.language == "sh")
    build = deploy.text.splitlines()[0].replace("build/lht65", str(tmp_path))

    tested, tried, built = (typed(line) for line in (*author.text.splitlines(), build))

    assert (tested.exit_code, tested.stdout) == (0, "lht65: lht65@0.1.0, 8 samples: ok\n")
    assert "2026-11-03T14:05:09.123Z" in tried.stdout
    assert "offers lht65==0.1.0; runs on any" in built.stdout


@pytest.mark.parametrize("network_server", ["the-things-stack", "chirpstack"])
def test_the_makers_bytes_give_the_makers_readings(network_server: str) -> None:
    sample = json.loads(uplink(network_server))
    payload = sample["data"] if "data" in sample else sample["uplink_message"]["frm_payload"]
    expected = json.loads((EXAMPLE / "samples" / f"{network_server}.json").read_text())

    assert base64.b64decode(payload) == MAKERS
    assert [(one["battery_v"], one["celsius"]) for one in expected] == [(3.062, 28.29)]
    assert [(one["humidity_percent"], one["probe_celsius"]) for one in expected] == [(88.6, 27.81)]


@pytest.mark.parametrize("network_server", ["the-things-stack", "chirpstack"])
def test_an_uplink_lands_as_its_sensors_message_byte_for_byte(
    wrapper: ModuleType, network_server: str
) -> None:
    kafka = FakeKafka(("raw.standard",))
    sensor = RegisteredDevice(
        device_id=SENSOR, device_type="lht65", keys=(), gateway_id="d-1", registered_ms=0
    )
    routes = ingest_routes(producer=kafka, devices=FakeDevices(sensor))

    answer = post_batch(routes, wrapper.entry_of(uplink(network_server)))

    (message,) = [message_from(record.headers, record.value) for record in kafka.records()]
    assert answer.status == 202
    assert (message.device_id, message.via, message.stream) == (SENSOR, "d-1", "lht65")
    assert (message.device_type, message.body) == ("lht65", uplink(network_server))


def test_an_uplink_of_chirpstack_needs_no_clock_of_a_radio_gateway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    parser = importlib.import_module("lht65").Lht65()
    sample = json.loads(uplink("chirpstack"))
    sample["rxInfo"] = [{"nsTime": "2026-11-03T14:05:09.123Z"}]
    sample.pop("time", None)

    [event] = parser.parse(json.dumps(sample).encode())

    assert event["received_at"] == "2026-11-03T14:05:09.123Z"


def test_a_join_has_no_entry(wrapper: ModuleType) -> None:
    assert wrapper.entry_of(uplink("join")) is None


class Api(BaseHTTPRequestHandler):
    """Answers any batch with a receipt of this status."""

    receipt: ClassVar[int] = 202
    tokens: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        entries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.tokens.append(self.headers["Authorization"].removeprefix("Bearer "))
        body = json.dumps({"receipts": [{"status": self.receipt} for _ in entries]}).encode()
        self.send_response(202 if self.receipt == 202 else 207)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its own


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def key() -> DeviceKey:
    return DeviceKey.generate()


@pytest.fixture
def webhook(wrapper: ModuleType, key: DeviceKey, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The wrapper's address, before an API."""
    monkeypatch.setattr(Api, "tokens", [])
    with serving(HTTPServer(("127.0.0.1", 0), Api)) as api:
        gateway = wrapper.Gateway(api, "climate-wrapper", key.private_jwk)
        with serving(wrapper.server(0, gateway, SECRET)) as address:
            yield address


def posted(address: str, body: bytes, headers: Mapping[str, str]) -> int:
    request: Any = urllib.request.Request(address, data=body, headers=dict(headers))  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as problem:
        problem.close()
        return problem.code


@pytest.mark.parametrize("receipt", [202, 403, 503])
def test_a_webhook_is_answered_as_its_receipt_says(
    webhook: str, receipt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Api, "receipt", receipt)

    assert posted(webhook, uplink(), {"X-Webhook-Secret": SECRET}) == receipt


def test_the_wrapper_signs_as_a_gateway_and_keeps_its_token(webhook: str, key: DeviceKey) -> None:
    for _ in range(2):
        posted(webhook, uplink(), {"X-Webhook-Secret": SECRET})

    first, second = Api.tokens
    claims = jwt.decode(
        first, key.private.public_key(), algorithms=["EdDSA"], audience="fleetlane-local"
    )
    assert (first == second, claims["sub"]) == (True, "climate-wrapper")
    assert jwt.get_unverified_header(first)["kid"] == key.kid


@pytest.mark.parametrize(
    ("body", "secret", "status"),
    [(uplink(), "guessed", 401), (b"no json", SECRET, 400), (uplink("join"), SECRET, 204)],
)
def test_what_is_no_uplink_or_comes_without_the_secret_is_not_sent(
    webhook: str, body: bytes, secret: str, status: int
) -> None:
    assert posted(webhook, body, {"X-Webhook-Secret": secret}) == status
    assert Api.tokens == []
