"""Sending one message: its headers, its address, and the answer."""

import json

import httpx
import pytest

from clients.device_api import MessageRefusedError, content_of, message_url
from fleetlane.cli.commands.message.send import (
    MessageParkedError,
    NoOutcomeError,
    no_flow_note,
    request_headers,
    show_outcome,
)
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome
from operations.messages.trace import message_trace
from tests.unit.operations.stored_messages import ARRIVAL_MS, RAW_ID, FakeStore, message_of

API = "http://127.0.0.1:1"


def test_headers_that_were_not_asked_for_are_left_out() -> None:
    headers = request_headers("t", content_type="text/csv", idempotency_key=None, firmware=None)

    assert headers == {"Authorization": "Bearer t", "Content-Type": "text/csv"}


def test_key_and_firmware_travel_in_headers_of_their_own() -> None:
    headers = request_headers("t", content_type="text/csv", idempotency_key="k", firmware="2.1")

    assert (headers["Idempotency-Key"], headers["X-Firmware-Version"]) == ("k", "2.1")


@pytest.mark.parametrize(
    ("stream", "lane", "url"),
    [
        ("thermo", Lane.STANDARD, f"{API}/v1/streams/thermo"),
        ("thermo", Lane.FAST, f"{API}/v1/fast/thermo"),
        ("../health?", Lane.STANDARD, f"{API}/v1/streams/..%2Fhealth%3F"),
    ],
)
def test_a_message_goes_to_its_streams_address(stream: str, lane: Lane, url: str) -> None:
    assert message_url(API, stream, lane) == url


def test_an_address_may_end_in_a_slash() -> None:
    url = message_url(f"{API}/", "thermo", Lane.STANDARD)

    assert url == f"{API}/v1/streams/thermo"


def test_a_receipt_is_returned_as_it_came() -> None:
    answer = httpx.Response(202, json={"id": "1ab", "lane": "standard"})

    assert content_of(answer, wanted=202) == {"id": "1ab", "lane": "standard"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            httpx.Response(403, json={"type": "urn:fleetlane:problem:forbidden", "detail": "no"}),
            "403 forbidden: no",
        ),
        (httpx.Response(401, json={"type": "urn:x:unauthenticated", "title": "Who?"}),
         "401 unauthenticated: Who?"),
        (httpx.Response(502, text="<html>"), "502 unexpected: <html>"),
        (httpx.Response(200, json={"id": "1ab"}), '200 unexpected: {"id":"1ab"}'),
        (httpx.Response(202, json=["1ab"]), '202 unexpected: ["1ab"]'),
    ],
)  # fmt: skip
def test_a_refusal_tells_status_tag_and_why(answer: httpx.Response, told: str) -> None:
    with pytest.raises(MessageRefusedError) as caught:
        content_of(answer, wanted=202)

    assert str(caught.value) == told


def test_each_step_has_the_time_of_its_own_record(capsys: pytest.CaptureFixture[str]) -> None:
    store = FakeStore()
    store.land(message_of(), at_ms=ARRIVAL_MS + 7)
    store.tell(message_of(), Outcome.PARSED, at_ms=ARRIVAL_MS + 900, events=1)
    store.emit(message_of(), f"{RAW_ID}-0")

    show_outcome(message_trace(store, RAW_ID, since_ms=None), 60)

    *steps, event = capsys.readouterr().out.splitlines()
    assert steps == [
        "2026-11-03T14:05:09.123Z  accepted by the API",
        "2026-11-03T14:05:09.123Z  events in canonical.tank",
        "2026-11-03T14:05:09.130Z  landed in raw.standard/0/0, attempt 1",
        "2026-11-03T14:05:10.023Z  parsed by tank@1.0.0 in the standard lane, attempt 1, events: 1,"
        " 0 µs",
    ]
    assert json.loads(event)["id"] == f"{RAW_ID}-0"


def test_a_parked_message_is_an_error_with_its_reason() -> None:
    store = FakeStore()
    store.tell(message_of(), Outcome.PARKED)
    store.park(message_of())

    with pytest.raises(MessageParkedError, match="parked as malformed: 5 bytes; a level is 6"):
        show_outcome(message_trace(store, RAW_ID, since_ms=None), 60)


def test_a_message_that_does_not_end_in_time_is_an_error_that_says_how_to_go_on() -> None:
    store = FakeStore()
    store.land(message_of())

    with pytest.raises(NoOutcomeError, match=f"within 60 s: `fleetlane why {RAW_ID}`"):
        show_outcome(message_trace(store, RAW_ID, since_ms=None), 60)


def test_a_stream_without_a_flow_is_named_with_what_to_do() -> None:
    note = no_flow_note("tank")

    assert "stream tank has no flow: its messages are kept, and parked" in note
    assert "`fleetlane flow new tank`" in note
