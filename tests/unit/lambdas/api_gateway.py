"""Requests as API Gateway hands them to a function."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clients.bound_devices import CachedBoundDevices, ManyDevices
from lambdas.ingest.batch import BatchIngest
from lambdas.ingest.reception import Reception
from lambdas.ingest.repeats import ReceiptStore, Repeats
from lambdas.ingest.routes import OneThreadResolver, Services, Surroundings, routes_of
from lambdas.ingest.service import Flows, Ingest, PayloadStore, RecordLander
from lambdas.ingest.sink_health import SinkHealth, WatchedLander, WatchedPayloads
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


def ingest_routes(
    *,
    flows: Flows | None = None,
    producer: RecordLander | None = None,
    payloads: PayloadStore | None = None,
    receipts: ReceiptStore | None = None,
    devices: ManyDevices | None = None,
    now_ms: Callable[[], int] = lambda: NOW_MS,
) -> OneThreadResolver:
    health, flows = SinkHealth(), flows or FakeFlows()
    kafka = producer or FakeKafka(["raw.fast", "raw.standard", "raw.slow"])
    ingest = Ingest(
        flows=flows,
        producer=WatchedLander(kafka, health),
        payloads=WatchedPayloads(payloads or FakePayloads(), health),
        body_bytes_max=1_000_000,
        on_flows_unavailable=lambda _: None,
    )
    repeats = Repeats(receipts or FakeReceipts(), on_unavailable=lambda _: None)
    reception = Reception(flows=flows, lander=ingest, repeats=repeats)
    bound = CachedBoundDevices(devices or FakeDevices())
    batches = BatchIngest(lander=reception, devices=bound, check_size=ingest.check_size)
    return routes_of(
        Services(reception=reception, batches=batches, health=health),
        Surroundings(now_ms=now_ms, jitter=lambda least, _: least),
    )


def post(
    routes: OneThreadResolver,
    path: str = "/v1/streams/thermo",
    body: bytes | None = b"hello",
    *,
    headers: Mapping[str, str] | None = None,
    identity: Mapping[str, str] | None = ACTIVE,
) -> Answer:
    return send(routes, event("POST", path, body, headers=headers, identity=identity))


def send(routes: OneThreadResolver, event: Mapping[str, Any]) -> Answer:
    answer = routes.resolve(event, None)
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
