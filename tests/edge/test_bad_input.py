"""Whatever comes over the wire: a clear answer, nothing stored, nothing crashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pytest

import operations.platform
from fleetlane.events.lanes import INLINE_BYTES_MAX
from fleetlane.events.times import HOUR_MS, now_ms
from local.platform import Platform
from operations.fleet.refusals import refusals
from tests.e2e.devices import Device
from tests.e2e.stored import Landings
from tests.edge.raw_http import RawAnswer, answer_to, request

pytestmark = [pytest.mark.kafka, pytest.mark.localstack]

LARGE: Final = b"x" * (INLINE_BYTES_MAX + 1)
"""Would leave a trace in S3 and in Kafka."""
BATCH: Final = (b"Content-Type", b"application/cloudevents-batch+json")
STREAM: Final = b"/v1/streams/diagnostics"

NO_ROUTE: Final = RawAnswer(status=404, tag="no_route")
BAD_REQUEST: Final = RawAnswer(status=400, tag="bad_request")
TOO_LARGE: Final = RawAnswer(status=413, tag="too_large")
TOO_MUCH_HEADER: Final = RawAnswer(status=431, tag="about:blank")
UNTAGGED: Final = RawAnswer(status=400)
"""The server cannot read it as HTTP at all."""
NO_ANSWER: Final = RawAnswer(status=None)
HANGS_UP: Final = "less than its length"


def bad_requests(token: str) -> dict[str, tuple[bytes, RawAnswer]]:
    """What is sent, and how it is to be answered, by name."""
    return {
        **bad_headers_and_bodies(token),
        **bad_paths_and_batches(token),
        "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00 hello over TLS\r\n\r\n", UNTAGGED),
    }


def bad_headers_and_bodies(token: str) -> dict[str, tuple[bytes, RawAnswer]]:
    many = [(b"X-Bomb-%d" % number, b"x" * 60) for number in range(200)]
    return {
        "200 headers": (request(token, body=LARGE, headers=many), TOO_MUCH_HEADER),
        "a header of 10 KB": (
            request(token, body=LARGE, headers=[(b"X-Bomb", b"x" * 10_241)]),
            TOO_MUCH_HEADER,
        ),
        "10 MB and a byte": (request(token, body=bytes(10 * 1024 * 1024 + 1)), TOO_LARGE),
        "more than a function takes": (request(token, body=bytes(5_000_000)), TOO_LARGE),
        "a length that is no number": (
            request(token, body=LARGE, content_length=b"many"), UNTAGGED,
        ),
        "a negative length": (request(token, body=LARGE, content_length=b"-1"), UNTAGGED),
        "two lengths": (
            request(token, body=LARGE, content_length=b"5\r\nContent-Length: 7"), UNTAGGED,
        ),
        HANGS_UP: (request(token, body=LARGE, content_length=b"9999999"), NO_ANSWER),
        "a header that is no UTF-8": (
            request(token, body=LARGE, headers=[(b"X-Firmware-Version", b"\xff\xfe")]), BAD_REQUEST,
        ),
        "a key that is no ASCII": (
            request(token, body=LARGE, headers=[(b"Idempotency-Key", "schlüssel".encode())]),
            BAD_REQUEST,
        ),
    }  # fmt: skip


def bad_paths_and_batches(token: str) -> dict[str, tuple[bytes, RawAnswer]]:
    return {
        "a path that is no ASCII": (request(token, path=STREAM + b"\xff", body=LARGE), UNTAGGED),
        "a path that decodes to no UTF-8": (
            request(token, path=STREAM + b"%ff%fe", body=LARGE), NO_ROUTE,
        ),
        "a path that climbs": (request(token, path=b"/v1/streams/../fast/door"), NO_ROUTE),
        "a null byte in the path": (request(token, path=STREAM + b"%00", body=LARGE), NO_ROUTE),
        "no batch at all": (request(token, path=b"/v1/batch", headers=[BATCH]), BAD_REQUEST),
        "half a batch": (
            request(token, path=b"/v1/batch", headers=[BATCH], body=b'[{"id": "'), BAD_REQUEST,
        ),
        "a batch of 100,000 levels": (
            request(token, path=b"/v1/batch", headers=[BATCH], body=b"[" * 100_000), BAD_REQUEST,
        ),
        "a batch that is no UTF-8": (
            request(token, path=b"/v1/batch", headers=[BATCH], body=b"[\xff\xfe]"), BAD_REQUEST,
        ),
        "a batch of 501 entries": (
            request(token, path=b"/v1/batch", headers=[BATCH], body=b"[1" + b",1" * 500 + b"]"),
            TOO_LARGE,
        ),
    }  # fmt: skip


NAMES: Final = tuple(bad_requests(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """All that was sent once, how it was answered, and what was stored meanwhile."""

    answers: Mapping[str, RawAnswer]
    stored: list[str]
    is_alive: bool


@pytest.fixture(scope="module")
def attack(edge: Platform) -> Attack:
    device, landings = Device.registered(edge), Landings(edge)
    process = edge.gateway
    answers = {
        name: answer_to(edge.endpoints.api, sent, hang_up=name == HANGS_UP)
        for name, (sent, _) in bad_requests(device.token()).items()
    }
    return Attack(answers=answers, stored=landings.new(), is_alive=process.is_alive())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_is_answered_clearly(attack: Attack, name: str) -> None:
    assert attack.answers[name] == bad_requests("")[name][1]


def test_nothing_of_it_is_stored(attack: Attack) -> None:
    assert attack.stored == []


def test_nothing_crashes(attack: Attack) -> None:
    assert attack.is_alive


def test_no_bytes_at_all_are_an_empty_message(device: Device) -> None:
    assert device.post("diagnostics", b"").status_code == 202


def test_what_follows_the_declared_length_is_not_part_of_the_message(
    edge: Platform, device: Device
) -> None:
    landings = Landings(edge)

    answer = answer_to(
        edge.endpoints.api, request(device.token(), body=b"x" * 9, content_length=b"5")
    )

    assert (answer.status, len(landings.new())) == (202, 1)


def test_operators_see_whose_messages_were_refused_and_why(edge: Platform, device: Device) -> None:
    firmware = f"of-{device.device_id}"
    headers = [(b"X-Body-Encoding", b"br"), (b"X-Firmware-Version", firmware.encode())]
    for _ in range(2):
        answer_to(edge.endpoints.api, request(device.token(), headers=headers))

    asked_at_ms = now_ms() + 1
    platform = operations.platform.Platform.on_laptop(edge.endpoints, edge.settings.folder)
    counts = platform.refusals(asked_at_ms - HOUR_MS, asked_at_ms)
    found = refusals(counts, platform.publisher.current().by_stream, hours=1)

    of_device = [one for one in found.rows if one["firmware"] == firmware]
    assert of_device == [
        {
            "tag": "bad_request",
            "owner": "firmware-team",
            "stream": "diagnostics",
            "device_type": "generic",
            "firmware": firmware,
            "messages": 2,
        }
    ]


def test_what_is_said_to_the_log_holds_no_token_and_no_body(edge: Platform, device: Device) -> None:
    secret = b"the-body's-own-bytes"
    token = device.token()
    answer_to(
        edge.endpoints.api, request(token, body=secret, headers=[(b"X-Body-Encoding", b"br")])
    )

    log = (edge.settings.folder / "gateway" / "gateway.log").read_bytes()

    assert [text for text in (token.encode(), secret) if text in log] == []
