"""The gateway does to a request what API Gateway would."""

import base64
import threading

import pytest

from tests.unit.local.gateway_calls import NOT_UTF8, TOKEN, FakeFunctions, Send, post, tag_of


def test_a_function_gets_the_body_s_very_bytes(send: Send, functions: FakeFunctions) -> None:
    post(send, NOT_UTF8)

    event = functions.ingested[0]
    assert event["isBase64Encoded"]
    assert base64.b64decode(event["body"]) == NOT_UTF8


def test_a_request_without_a_body_is_no_base64(send: Send, functions: FakeFunctions) -> None:
    post(send, b"")

    assert (functions.ingested[0]["body"], functions.ingested[0]["isBase64Encoded"]) == (
        None,
        False,
    )


def test_a_function_receives_path_parameters_and_query(
    send: Send, functions: FakeFunctions
) -> None:
    send("POST", "/v1/fast/door?a=1&a=2", headers=TOKEN)

    event = functions.ingested[0]
    assert event["path"] == "/v1/fast/door"
    assert event["resource"] == "/v1/fast/{stream}"
    assert event["pathParameters"] == {"stream": "door"}
    assert event["queryStringParameters"] == {"a": "2"}
    assert event["multiValueQueryStringParameters"] == {"a": ["1", "2"]}


def test_an_answer_has_each_value_of_a_header(send: Send, functions: FakeFunctions) -> None:
    functions.answer = {"statusCode": 200, "multiValueHeaders": {"X-Two": ["1", "2"]}}

    response = post(send)

    assert response.headers.get_list("x-two") == ["1", "2"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/streams"), ("GET", "/v1/nowhere"), ("POST", "/v1/streams/a/b")],
)
def test_a_path_without_a_resource_is_no_route(send: Send, method: str, path: str) -> None:
    response = send(method, path, headers=TOKEN)

    assert (response.status_code, tag_of(response)) == (404, "no_route")


@pytest.mark.parametrize(
    ("method", "path", "allow"), [("GET", "/v1/uploads/gps", "POST"), ("PUT", "/v1/health", "GET")]
)
def test_a_path_that_takes_another_method_says_which(
    send: Send, method: str, path: str, allow: str
) -> None:
    response = send(method, path, headers=TOKEN)

    assert (response.status_code, tag_of(response)) == (405, "no_method")
    assert response.headers["allow"] == allow


@pytest.mark.parametrize("answer", [ValueError("broken"), None, {"body": "no status"}])
def test_a_function_that_fails_is_worth_another_try(
    send: Send, functions: FakeFunctions, answer: object
) -> None:
    functions.answer = answer

    response = post(send)

    assert (response.status_code, tag_of(response)) == (503, "try_later")
    assert int(response.headers["retry-after"]) > 0


@pytest.mark.parametrize("timeout_s", [0.5])
def test_a_function_that_hangs_is_not_waited_for(send: Send, functions: FakeFunctions) -> None:
    hanging = threading.Event()
    functions.answer = lambda: hanging.wait(30)

    response = post(send)
    hanging.set()

    assert (response.status_code, tag_of(response)) == (503, "try_later")
