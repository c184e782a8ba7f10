"""What Lambda calls for each request of a device."""

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, dynamodb_table, hasty_config, request_config, s3_client
from clients.circuit_breaker import CircuitBreaker
from clients.devices.overrides import CachedOverrides, OverridesStore, OverridesUnavailableError
from clients.devices.receipts import KeptReceipt, ReceiptStore, ReceiptsUnavailableError
from clients.devices.registry import DeviceRegistry, RegisteredDevice
from clients.flows.store import CachedFlows, FlowStore, FlowsUnavailableError
from clients.kafka.kafka_or_spool import PRODUCE_S, KafkaOrSpool
from clients.kafka.producer import KafkaProducer
from clients.s3.payload_bucket import PayloadBucket
from clients.s3.spool import Spool
from lambdas.http.rate_limiter import RateDecision, RateLimiter
from lambdas.ingest.assembly import IngestDependencies, services_on
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.metrics import (
    count_flows_unavailable,
    count_overrides_unavailable,
    count_receipts_unavailable,
)
from lambdas.ingest.settings import settings

_LOOK_UP_S: Final = 1.0
"""The most that a batch waits for the registry: the entries of other devices then try later."""

logger = Logger(service="ingest")

_OVERRIDES_WAIT_S: Final = 0.25
"""The longest that a request waits for the overrides to be read again."""


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer one request. May be called by several threads at once, as the local gateway does."""
    return _dispatcher().resolve(event, context)


@cache
def _dispatcher() -> Dispatcher:
    return Dispatcher(services_on(_dependencies()), now_ms=_now_ms, jitter=random.randint)


def _dependencies() -> IngestDependencies:
    ours = settings()
    s3 = s3_client(AwsSettings(), config=request_config())
    kafka = KafkaProducer(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        security=ours.kafka_security,
        delivery_timeout_s=PRODUCE_S,
    )
    overrides = CachedOverrides(
        OverridesStore(s3, ours.overrides_bucket),
        on_unavailable=_overrides_unavailable,
        max_age_s=ours.overrides_max_age_s,
        wait_s=_OVERRIDES_WAIT_S,
    )
    return IngestDependencies(
        rate_limiter=RateLimiter(
            overrides, of_stage=ours.rate_limits, on_over_rate_limit=_over_rate_limit
        ),
        flows=CachedFlows(FlowStore(s3, ours.flows_bucket), max_age_s=ours.flows_max_age_s),
        producer=KafkaOrSpool(
            producer=kafka,
            spool=Spool(s3, ours.spool_bucket),
            breaker=CircuitBreaker(),
            now_ms=_now_ms,
        ),
        payloads=PayloadBucket(s3, ours.payload_bucket),
        receipts=_Receipts(),
        devices=_Registry(),
        body_bytes_max=ours.body_bytes_max,
        on_flows_unavailable=_flows_unavailable,
        on_receipts_unavailable=_receipts_unavailable,
    )


class _Registry:
    """The registry, opened when a gateway first speaks for another device."""

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]:
        return _registry().find_all(device_ids)


class _Receipts:
    """The table of receipts, opened when a flow first asks for repeats to be answered."""

    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]:
        return _receipts().find_all(keys, now_s=now_s)

    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None:
        _receipts().keep_all(receipts)


@cache
def _registry() -> DeviceRegistry:
    config = hasty_config(seconds=_LOOK_UP_S)
    return DeviceRegistry(dynamodb_table(AwsSettings(), settings().registry_table, config=config))


@cache
def _receipts() -> ReceiptStore:
    ours = settings()
    config = hasty_config(seconds=ours.receipts_wait_ms / 1000)
    return ReceiptStore(dynamodb_table(AwsSettings(), ours.receipts_table, config=config))


def _receipts_unavailable(problem: ReceiptsUnavailableError) -> None:
    logger.warning("receipts unavailable", extra={"problem": str(problem)})
    count_receipts_unavailable()


def _flows_unavailable(problem: FlowsUnavailableError) -> None:
    logger.warning("flows unavailable", extra={"problem": str(problem)})
    count_flows_unavailable()


def _overrides_unavailable(problem: OverridesUnavailableError) -> None:
    logger.warning("overrides unavailable", extra={"problem": str(problem)})
    count_overrides_unavailable()


def _over_rate_limit(device_id: str, decision: RateDecision) -> None:
    logger.warning("over its rate limit", extra={"device_id": device_id, "decision": decision})


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
