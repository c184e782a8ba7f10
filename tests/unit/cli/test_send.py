"""Sending one message: its headers, its address, and the answer."""

import httpx
import pytest

from clients.device_api import MessageRefusedError, message_url, receipt_of
from fleetlane.cli.commands.message.send import request_headers
from fleetlane.events.lanes import Lane

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


def test_a_receipt_is_returned_as_it_came() -> None:
    answer = httpx.Response(202, json={"id": "1ab", "lane": "standard"})

    assert receipt_of(answer) == {"id": "1ab", "lane": "standard"}


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
        receipt_of(answer)

    assert str(caught.value) == told
