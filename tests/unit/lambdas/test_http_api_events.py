"""Events of API Gateway's HTTP API in payload format 1.0, as AWS documents them."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope_reading import message_from
from tests.unit.lambdas.api_gateway import ACTIVE, ingest_routes, send
from tests.unit.lambdas.fakes import FakeKafka

TOPICS = ("raw.standard",)
TEXT = "application/json"
"""With such a type the HTTP API hands a body over as text, with others in Base64."""


def http_event(body: bytes, *, content_type: str) -> dict[str, Any]:
    is_text = content_type == TEXT
    text = body.decode(errors="replace") if is_text else base64.b64encode(body).decode()
    path = "/v1/streams/thermo"
    headers = {"content-type": content_type, "content-length": str(len(body)), "host": "a.b"}
    return {
        "version": "1.0",
        "resource": "/v1/streams/{stream}",
        "path": path,
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"stream": "thermo"},
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "a1b2c3",
            "authorizer": {**ACTIVE, "integrationLatency": 7},
            "domainName": "a1b2c3.execute-api.eu-central-1.amazonaws.com",
            "httpMethod": "POST",
            "path": path,
            "protocol": "HTTP/1.1",
            "requestId": "id=",
            "resourceId": None,
            "resourcePath": "/v1/streams/{stream}",
            "stage": "$default",
        },
        "body": text,
        "isBase64Encoded": not is_text,
    }


@pytest.mark.parametrize("content_type", [TEXT, "application/octet-stream"])
@given(body=st.text(st.characters(exclude_characters="\ufffd", codec="utf-8")).map(str.encode))
def test_text_lands_byte_for_byte_however_it_is_handed_over(content_type: str, body: bytes) -> None:
    kafka = FakeKafka(TOPICS)

    answer = send(ingest_routes(producer=kafka), http_event(body, content_type=content_type))

    (record,) = kafka.records()
    message = message_from(record.headers, record.value)
    assert answer.status == 202
    assert (message.body, message.content_type) == (body, content_type)


def test_bytes_that_are_no_text_are_refused_where_they_are_declared_as_such() -> None:
    kafka = FakeKafka(TOPICS)
    gzipped = b"\x1f\x8b\x08\x00and so on"

    answer = send(ingest_routes(producer=kafka), http_event(gzipped, content_type=TEXT))

    assert (answer.status, answer.tag) == (400, "bad_request")
    assert "send such bytes as application/octet-stream" in answer.body["detail"]
    assert kafka.records() == []


def test_bytes_that_are_declared_as_such_land() -> None:
    kafka = FakeKafka(TOPICS)
    gzipped = b"\x1f\x8b\x08\x00and so on"

    send(ingest_routes(producer=kafka), http_event(gzipped, content_type="application/x-gzip"))

    (record,) = kafka.records()
    assert record.value == gzipped
