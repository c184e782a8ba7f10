"""The two sides compared at the edge: ingest, and a minimal handler."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pybase64

from clients.circuit_breaker import CircuitBreaker
from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.overrides import cached_overrides
from clients.flows.store import CachedFlows
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.raw_producer import connected, producer_configuration
from clients.kafka_or_spool import KafkaOrSpool, Producer
from clients.s3.spool import SpoolUnavailableError
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.flows.files import PublishedFlows, flows_in
from fleetlane.events.overrides import (
    BYTES_PER_MINUTE_MAX,
    MESSAGES_PER_MINUTE_MAX,
    Overrides,
    RateLimits,
)
from fleetlane.events.times import now_ms
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.intake import Intake
from lambdas.ingest.repeats import Repeats
from lambdas.ingest.service import Ingest
from local.checkout import FLOWS

ACCEPTED: Final = 202
PATIENCE_S: Final = 30.0
"""Long, for a busy machine: a spooled message would not be measured."""

_NEVER_REACHED: Final = RateLimits(
    soft_per_minute=MESSAGES_PER_MINUTE_MAX,
    hard_per_minute=MESSAGES_PER_MINUTE_MAX,
    soft_bytes_per_minute=BYTES_PER_MINUTE_MAX,
    hard_bytes_per_minute=BYTES_PER_MINUTE_MAX,
)

type Handler = Callable[[Mapping[str, Any], object], Mapping[str, Any]]


class Recording:
    """Instead of Kafka: the last record that it was given."""

    confirmed_s = 0.0

    def __init__(self) -> None:
        self.last = ProducerRecord(topic="", key=b"", value=None)

    def serve(self) -> None:
        """Nothing comes late."""

    def land_all(self, records: Sequence[ProducerRecord], *, within_s: float = PATIENCE_S) -> Any:
        self.last = records[-1]
        return [KafkaPosition(topic=one.topic, partition=0, offset=0) for one in records]


class _Nowhere:
    """S3 and DynamoDB, not needed for what is measured; and what is read of them once."""

    def __init__(self) -> None:
        self._flows = PublishedFlows(version="bench", flows=tuple(flows_in(FLOWS).values()))

    def put(self, *_: object, **__: object) -> Any:
        raise SpoolUnavailableError("there is none here")

    def find_all(self, *_: object, **__: object) -> Any:
        raise NotImplementedError

    def keep_all(self, *_: object) -> None:
        raise NotImplementedError

    def read(self) -> Overrides:
        return Overrides()

    def current(self) -> PublishedFlows:
        return self._flows


def kafka(servers: str) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=servers, delivery_timeout_s=PATIENCE_S)


def record_of(event: Mapping[str, Any]) -> ProducerRecord:
    """What ingest hands to Kafka for an event."""
    recording = Recording()
    ingest_handler(recording)(event, None)
    return recording.last


def ingest_handler(producer: Producer) -> Handler:
    """Ingest as it runs in Lambda, but for S3 and DynamoDB."""
    nowhere = _Nowhere()
    overrides = cached_overrides(nowhere.read, on_unavailable=lambda _: None)
    intake = Intake(
        rate_limiter=RateLimiter(
            overrides, of_stage=_NEVER_REACHED, on_over_rate_limit=lambda *_: None
        ),
        flows=CachedFlows(nowhere),
        ingest=Ingest(
            producer=KafkaOrSpool(
                producer=producer,
                spool=nowhere,
                breaker=CircuitBreaker(),
                produce_s=PATIENCE_S,
                now_ms=now_ms,
            ),
            put_payload=nowhere.put,
            body_bytes_max=4_500_000,
        ),
        repeats=Repeats(
            store=lambda: nowhere, on_unavailable=lambda _: None, breaker=CircuitBreaker()
        ),
        on_flows_unavailable=lambda _: None,
    )
    devices = CachedBoundDevices(nowhere.find_all)
    dispatcher = Dispatcher(
        intake=intake, devices=devices, now_ms=now_ms, jitter=lambda least, _: least
    )
    return lambda event, _: dispatcher.resolve(event)


def floor_handler(servers: str, record: ProducerRecord) -> Handler:
    """Hand the same bytes to Kafka's client, and wait until they are confirmed. Nothing else.

    The key and the headers are there beforehand. The body is not: it comes in the event, as Base64,
    so whoever is to produce its bytes decodes it first, by the same library as ingest.
    """
    producer = connected(producer_configuration(servers, PATIENCE_S))
    headers: list[tuple[str, str | bytes | None]] = [*record.headers]
    answer = {"statusCode": ACCEPTED, "body": "{}"}

    def handle(event: Mapping[str, Any], _context: object) -> Mapping[str, Any]:
        confirmed: list[object] = []
        producer.produce(
            record.topic,
            key=record.key,
            value=pybase64.b64decode(event["body"], validate=True),
            headers=headers,
            on_delivery=lambda error, _: confirmed.append(error),
        )
        while not confirmed:
            producer.poll(0.05)
        if confirmed[0] is not None:
            raise ConnectionError(confirmed[0])
        return answer

    return handle


def api_gateway_event(body: bytes, *, has_key: bool = True) -> dict[str, Any]:
    """What API Gateway hands over, as far as anything looks at it."""
    identity = {"device_id": "d-17", "device_type": "tracker", "status": "active"}
    headers = {
        "Authorization": "Bearer " + "x" * 300,
        "Content-Type": "application/json",
        **({"Idempotency-Key": "5b1f0c9e-1"} if has_key else {}),
        "X-Firmware-Version": "2.1.0",
        "Host": "example.invalid",
        "User-Agent": "firmware/2.1.0",
    }
    return {
        "resource": "/v1/streams/{stream}",
        "path": "/v1/streams/gps",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"stream": "gps"},
        "stageVariables": None,
        "requestContext": {"authorizer": identity, "requestId": "r", "stage": "v1"},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
