"""What Lambda calls for each request of a device."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, dynamodb_table, hasty_config, request_config, s3_client
from clients.circuit_breaker import CircuitBreaker
from clients.devices.receipts import KeptReceipt, ReceiptStore, ReceiptsUnavailableError
from clients.environment import read_settings
from clients.flows.store import CachedFlows, FlowStore, FlowsUnavailableError
from clients.kafka.producer import KafkaProducer
from clients.kafka_or_spool import PRODUCE_S, KafkaOrSpool
from clients.s3.payload_bucket import PayloadBucket
from clients.s3.spool import Spool
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import REQUEST_BODY_BYTES_MAX
from lambdas.http.dependencies import DeviceSettings, LazyRegistry, rate_limiter
from lambdas.ingest.assembly import IngestDependencies, services_on
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.problems import FLOWS_UNAVAILABLE, OVERRIDES_UNAVAILABLE, RECEIPTS_UNAVAILABLE

logger = Logger(service="ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where messages go.

    ``receipts_wait_ms`` is the longest that a call for receipts may take: a repeat that lands once
    more is no harm.
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
    return _dispatcher().resolve(event, context)


@cache
def _dispatcher() -> Dispatcher:
    return dispatcher(now_ms=_now_ms)


def dispatcher(*, now_ms: Callable[[], int]) -> Dispatcher:
    """Ingest put together by the settings of its environment, with a clock."""
    services = services_on(_dependencies(now_ms))
    return Dispatcher(services, now_ms=now_ms, jitter=random.randint)


def _dependencies(now_ms: Callable[[], int]) -> IngestDependencies:
    ours = read_settings(Settings)
    s3 = s3_client(AwsSettings(), config=request_config())
    kafka = KafkaProducer(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        security=ours.kafka_security,
        delivery_timeout_s=PRODUCE_S,
    )
    return IngestDependencies(
        rate_limiter=rate_limiter(
            ours.devices, s3, logger=logger, unavailable_line=OVERRIDES_UNAVAILABLE
        ),
        flows=CachedFlows(
            FlowStore(s3, ours.devices.flows_bucket), max_age_s=ours.devices.flows_max_age_s
        ),
        producer=KafkaOrSpool(
            producer=kafka,
            spool=Spool(s3, ours.spool_bucket),
            breaker=CircuitBreaker(),
            now_ms=now_ms,
        ),
        payloads=PayloadBucket(s3, ours.payload_bucket),
        receipts=_LazyReceipts(),
        devices=LazyRegistry(ours.devices.registry_table),
        body_bytes_max=REQUEST_BODY_BYTES_MAX,
        on_flows_unavailable=_flows_unavailable,
        on_receipts_unavailable=_receipts_unavailable,
    )


class _LazyReceipts:
    """The table of receipts, opened when a flow first asks for repeats to be answered."""

    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]:
        return _receipts().find_all(keys, now_s=now_s)

    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None:
        _receipts().keep_all(receipts)


@cache
def _receipts() -> ReceiptStore:
    ours = read_settings(Settings)
    config = hasty_config(seconds=ours.receipts_wait_ms / 1000)
    return ReceiptStore(dynamodb_table(AwsSettings(), ours.receipts_table, config=config))


def _receipts_unavailable(problem: ReceiptsUnavailableError) -> None:
    logger.warning("receipts unavailable", extra={"problem": str(problem)})
    RECEIPTS_UNAVAILABLE.write(1)


def _flows_unavailable(problem: FlowsUnavailableError) -> None:
    logger.warning("flows unavailable", extra={"problem": str(problem)})
    FLOWS_UNAVAILABLE.write(1)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
