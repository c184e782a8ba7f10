"""What the gateway takes, and how much of it."""

import base64
import gzip
import zlib
from collections.abc import Callable

import pytest

from tests.unit.local.gateway_calls import NOT_UTF8, FakeFunctions, Send, post, tag_of


@pytest.mark.parametrize("size_bytes", [10 * 1024 * 1024 + 1, 5_000_000])
def test_a_body_over_the_limit_of_gateway_or_function_is_too_large(
    send: Send, functions: FakeFunctions, size_bytes: int
) -> None:
    response = post(send, b"x" * size_bytes)

    assert (response.status_code, tag_of(response)) == (413, "too_large")
    assert functions.ingested == []


def test_a_body_of_four_and_a_half_million_bytes_passes(send: Send) -> None:
    response = post(send, b"x" * 4_500_000)

    assert response.status_code == 202


def test_headers_over_ten_kilobytes_are_refused(send: Send) -> None:
    response = post(send, x_much="x" * 10_240)

    assert response.status_code == 431


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_body_is_unpacked_and_its_header_kept(
    send: Send, functions: FakeFunctions, coding: str, pack: Callable[[bytes], bytes]
) -> None:
    post(send, pack(NOT_UTF8), content_encoding=coding)

    event = functions.ingested[0]
    assert base64.b64decode(event["body"]) == NOT_UTF8
    assert event["headers"]["content-encoding"] == coding


@pytest.mark.parametrize(
    ("body", "coding", "status"),
    [
        (b"x", "br", 415),
        (b"x", "gzip", 400),
        (gzip.compress(b"x", mtime=0)[:-1], "gzip", 400),
        (gzip.compress(bytes(10 * 1024 * 1024 + 1), mtime=0), "gzip", 413),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_refused(
    send: Send, body: bytes, coding: str, status: int
) -> None:
    response = post(send, body, content_encoding=coding)

    assert response.status_code == status


def test_too_many_requests_are_asked_to_slow_down(send: Send) -> None:
    statuses = [post(send).status_code for _ in range(4)]

    response = post(send)

    assert statuses == [202] * 4
    assert (tag_of(response), response.headers["retry-after"]) == ("slow_down", "2")
