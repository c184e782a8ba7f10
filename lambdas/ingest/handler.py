"""What Lambda calls for each request of a device."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, dynamodb_table, hasty_config, request_config, s3_client
from clients.circuit_breaker import CircuitBreaker
from clients.devices.receipts import ReceiptStore
from clients.environment import read_settings
from clients.flows.store import CachedFlows, FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka_or_spool import PRODUCE_S, KafkaOrSpool
from clients.s3.payload_bucket import PayloadBucket
from clients.s3.spool import Spool
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import REQUEST_BODY_BYTES_MAX, Lane
from fleetlane.events.times import now_ms
from fleetlane.events.topics import RawTopic
from lambdas.http.dependencies import DeviceSettings, bound_devices, rate_limiter, unavailable
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.intake import Intake
from lambdas.ingest.problems import FLOWS_UNAVAILABLE, OVERRIDES_UNAVAILABLE, RECEIPTS_UNAVAILABLE
from lambdas.ingest.repeats import Repeats
from lambdas.ingest.service import Ingest

logger = Logger(service="ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where messages go.

    ``receipts_wait_ms`` limits a call for receipts: a repeat that lands once more is no harm.
    """

    devices: DeviceSettings
    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    payload_bucket: str
    spool_bucket: str
    receipts_table: str
    receipts_wait_ms: int = 200


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer one request. May be called by several threads at once, as the local gateway does."""
    return _dispatcher().resolve(event)


def prepare() -> None:
    """Make all clients and log in to Kafka, so that the first request need not wait for it."""
    _dispatcher()
    _kafka().connect(str(RawTopic(lane=Lane.STANDARD)))


@cache
def _dispatcher() -> Dispatcher:
    return dispatcher(now_ms=now_ms)


def dispatcher(*, now_ms: Callable[[], int]) -> Dispatcher:
    """Ingest put together by the settings of its environment, with a clock."""
    ours = read_settings(Settings)
    s3 = s3_client(AwsSettings(), config=request_config())
    intake = Intake(
        rate_limiter=rate_limiter(
            ours.devices, s3, logger=logger, unavailable_line=OVERRIDES_UNAVAILABLE
        ),
        flows=CachedFlows(
            FlowStore(s3, ours.devices.flows_bucket), max_age_s=ours.devices.flows_max_age_s
        ),
        ingest=Ingest(
            producer=KafkaOrSpool(
                producer=_kafka(),
                spool=Spool(s3, ours.spool_bucket),
                breaker=CircuitBreaker(),
                now_ms=now_ms,
            ),
            put_payload=PayloadBucket(s3, ours.payload_bucket).put,
            body_bytes_max=REQUEST_BODY_BYTES_MAX,
        ),
        repeats=Repeats(
            store=_receipts,
            on_unavailable=unavailable("receipts", logger, RECEIPTS_UNAVAILABLE),
            breaker=CircuitBreaker(),
        ),
        on_flows_unavailable=unavailable("flows", logger, FLOWS_UNAVAILABLE),
    )
    devices = bound_devices(ours.devices.registry_table)
    return Dispatcher(intake=intake, devices=devices, now_ms=now_ms, jitter=random.randint)


@cache
def _kafka() -> KafkaProducer:
    ours = read_settings(Settings)
    return KafkaProducer(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        security=ours.kafka_security,
        delivery_timeout_s=PRODUCE_S,
    )


@cache
def _receipts() -> ReceiptStore:
    """Opened when a flow first asks for repeats to be answered."""
    ours = read_settings(Settings)
    config = hasty_config(seconds=ours.receipts_wait_ms / 1000)
    return ReceiptStore(dynamodb_table(AwsSettings(), ours.receipts_table, config=config))
