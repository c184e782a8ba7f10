"""Requests as API Gateway hands them to a function."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from clients.circuit_breaker import CircuitBreaker
from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.overrides import cached_overrides
from clients.devices.registry import RegisteredDevice
from clients.flows.store import CurrentFlows
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.intake import Intake
from lambdas.ingest.repeats import ReceiptStore, Repeats
from lambdas.ingest.service import Ingest, RecordLander
from tests.unit.lambdas.fake_overrides import FakeOverrides
from tests.unit.lambdas.fake_receipts import FakeReceipts
from tests.unit.lambdas.fakes import FakeDevices, FakeFlows, FakeKafka, FakePayloads

NOW_MS = 1_790_000_000_000
ACTIVE: Mapping[str, str] = {
    "principalId": "d-1",
    "device_id": "d-1",
    "device_type": "acme-thermo",
    "status": "active",
}


@dataclass(frozen=True)
class Answer:
    """A function's answer, taken apart."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def tag(self) -> str:
        return str(self.body["type"]).rpartition(":")[2]


class Finds(Protocol):
    """Where many devices are looked up at once: a registry, or one that does not answer."""

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]: ...


def unlimited() -> RateLimiter:
    """Lets everybody send."""
    overrides = cached_overrides(FakeOverrides().read, on_unavailable=lambda _: None)
    return RateLimiter(overrides, of_stage=None, on_over_rate_limit=lambda *_: None)


def ingest_routes(  # noqa: PLR0913 - each may be a fake of its own
    *,
    rate_limiter: RateLimiter | None = None,
    flows: CurrentFlows | None = None,
    producer: RecordLander | None = None,
    payloads: FakePayloads | None = None,
    receipts: ReceiptStore | None = None,
    devices: Finds | None = None,
    now_ms: Callable[[], int] = lambda: NOW_MS,
) -> Dispatcher:
    store = receipts or FakeReceipts()
    ingest = Ingest(
        producer=producer
        or FakeKafka(
            [
                "raw.fast",
                "raw.standard",
                "raw.slow",
                "raw.bulk.large",
                "raw.bulk.late",
                "raw.bulk.quarantined",
            ]
        ),
        put_payload=(payloads or FakePayloads()).put,
        body_bytes_max=1_000_000,
    )
    intake = Intake(
        rate_limiter=rate_limiter or unlimited(),
        flows=flows or FakeFlows(),
        ingest=ingest,
        repeats=Repeats(
            store=lambda: store, on_unavailable=lambda _: None, breaker=CircuitBreaker()
        ),
        on_flows_unavailable=lambda _: None,
    )
    cached_devices = CachedBoundDevices((devices or FakeDevices()).find_all)
    return Dispatcher(
        intake=intake, devices=cached_devices, now_ms=now_ms, jitter=lambda least, _: least
    )


def post(
    routes: Dispatcher,
    path: str = "/v1/streams/thermo",
    body: bytes | None = b"hello",
    *,
    headers: Mapping[str, str] | None = None,
    identity: Mapping[str, str] | None = ACTIVE,
) -> Answer:
    return send(routes, event("POST", path, body, headers=headers, identity=identity))


def send(routes: Dispatcher, event: Mapping[str, Any]) -> Answer:
    answer = routes.resolve(event)
    headers = {name: values[0] for name, values in answer["multiValueHeaders"].items()}
    return Answer(
        status=answer["statusCode"],
        content_type=headers["Content-Type"],
        headers=headers,
        body=json.loads(answer["body"]),
    )


def event(
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    identity: Mapping[str, str] | None = ACTIVE,
) -> dict[str, Any]:
    authorizer = {} if identity is None else {"authorizer": dict(identity)}
    return {
        "resource": "/{proxy+}",
        "httpMethod": method,
        "path": path,
        "headers": dict(headers or {}),
        "multiValueHeaders": {},
        "requestContext": {"stage": "prod", "path": f"/prod{path}"} | authorizer,
        "body": None if body is None else base64.b64encode(body).decode(),
        "isBase64Encoded": body is not None,
    }
