"""Tiny functions to stand behind the gateway, and requests to it, for its tests."""

from collections.abc import Callable
from typing import Any

import httpx

TOKEN = {"authorization": "Bearer t"}
NOT_UTF8 = b"\x00\xff\xfe"
ARN = "arn:aws:execute-api:eu-central-1:000000000000:local/local/POST/v1/streams/thermo"


def policy(effect: str, resource: object = "*") -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource}
    return {"Version": "2012-10-17", "Statement": [statement]}


class FakeFunctions:
    """All functions; keeps the events that they were called with."""

    def __init__(self) -> None:
        self.ingested: list[dict[str, Any]] = []
        self.issued: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.answer: object = {"statusCode": 202, "body": "{}"}
        self.authority: object = {
            "principalId": "d-17",
            "policyDocument": policy("Allow"),
            "context": {"device_id": "d-17", "tries": 2, "is_new": True},
        }

    def ingest(self, event: dict[str, Any], context: Any) -> object:
        assert context.get_remaining_time_in_millis() <= 29_000
        self.ingested.append(event)
        return _given(self.answer)

    def issue(self, event: dict[str, Any], _: object) -> object:
        self.issued.append(event)
        return {"statusCode": 201, "body": "{}"}

    def authorize(self, event: dict[str, Any], _: object) -> object:
        self.asked.append(event)
        return _given(self.authority)


def _given(answer: object) -> object:
    if isinstance(answer, Exception):
        raise answer
    return answer() if callable(answer) else answer


class FakeClock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


type Send = Callable[..., httpx.Response]


def post(send: Send, body: bytes = b"x", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return send("POST", "/v1/streams/thermo", content=body, headers=TOKEN | named)


def tag_of(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    return str(problem["type"]).removeprefix("urn:fleetlane:problem:")
