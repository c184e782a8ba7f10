"""The gateway asks the authorizer, and keeps to what it says."""

from typing import Any

import pytest

from local.gateway.rest_api import AuthorizerCache, AuthorizerResult
from tests.unit.local.gateway_calls import (
    ARN,
    TOKEN,
    FakeClock,
    FakeFunctions,
    Send,
    policy,
    post,
    tag_of,
)


def test_a_function_receives_what_the_authorizer_knows_as_text(
    send: Send, functions: FakeFunctions
) -> None:
    post(send)

    assert functions.ingested[0]["requestContext"]["authorizer"] == {
        "principalId": "d-17",
        "device_id": "d-17",
        "tries": "2",
        "is_new": "true",
    }


def test_the_authorizer_sees_the_request_without_its_body(
    send: Send, functions: FakeFunctions
) -> None:
    post(send)

    asked = functions.asked[0]
    assert (asked["type"], asked["methodArn"], "body" in asked) == ("REQUEST", ARN, False)


def test_an_answer_of_the_authorizer_is_kept_for_its_token(
    send: Send, functions: FakeFunctions, clock: FakeClock
) -> None:
    post(send)
    post(send, authorization="Bearer other")
    clock.now_s = 299.0
    post(send)
    clock.now_s = 300.0
    post(send)

    assert len(functions.asked) == 3


def test_a_kept_policy_is_held_against_each_path(send: Send, functions: FakeFunctions) -> None:
    functions.authority = {"principalId": "d", "policyDocument": policy("Allow", ARN)}
    post(send)

    response = send("POST", "/v1/fast/thermo", headers=TOKEN)

    assert (tag_of(response), len(functions.asked)) == ("forbidden", 1)


def test_health_needs_no_authorizer(send: Send, functions: FakeFunctions) -> None:
    response = send("GET", "/v1/health")

    assert (response.status_code, functions.asked) == (202, [])


@pytest.mark.parametrize(
    ("authority", "status", "tag"),
    [
        (Exception("Unauthorized"), 401, "unauthenticated"),
        ({"principalId": "d", "policyDocument": policy("Deny")}, 403, "forbidden"),
        (ValueError("broken"), 503, "try_later"),
        ({"principalId": "d"}, 503, "try_later"),
    ],
)
def test_what_the_authorizer_refuses_reaches_no_function(
    send: Send, functions: FakeFunctions, authority: object, status: int, tag: str
) -> None:
    functions.authority = authority

    response = post(send)

    assert (response.status_code, tag_of(response)) == (status, tag)
    assert functions.ingested == []


def test_a_request_without_a_token_is_refused_unasked(send: Send, functions: FakeFunctions) -> None:
    response = send("POST", "/v1/streams/thermo")

    assert (tag_of(response), functions.asked) == ("unauthenticated", [])


@pytest.mark.parametrize(
    ("statements", "is_covered"),
    [
        ([], False),
        ([policy("Allow", "arn:*/POST/v1/*")], True),
        ([policy("Allow", ["arn:none", ARN])], True),
        ([policy("Allow", "arn:*/GET/*")], False),
        ([policy("Allow"), policy("Deny", "*/thermo")], False),
    ],
)
def test_a_policy_allows_what_it_covers_and_does_not_deny(
    *, statements: list[dict[str, Any]], is_covered: bool
) -> None:
    both = {"Statement": [one for part in statements for one in part["Statement"]]}

    assert AuthorizerResult(policy=both, context={}).allows(ARN) is is_covered


def test_expired_results_are_dropped() -> None:
    now_s = 0.0
    cache = AuthorizerCache(clock_s=lambda: now_s)
    result = AuthorizerResult(policy={}, context={})

    for number in range(10_000):
        now_s = float(number)
        cache.put((str(number),), result, ttl_s=300)

    assert len(cache._cached) <= 2_000
    assert cache.get(("9999",)) is result
