"""What Lambda calls for each request of a device."""

import random
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, request_config, s3_client
from clients.circuit_breaker import CircuitBreaker
from clients.flow_store import CachedFlows, FlowStore, FlowsUnavailableError
from clients.kafka_or_spool import PRODUCE_S, KafkaOrSpool
from clients.kafka_producer import KafkaProducer
from clients.payload_bucket import PayloadBucket
from clients.spool import Spool
from lambdas.ingest.metrics import count_flows_unavailable
from lambdas.ingest.routes import OneThreadResolver, Surroundings, routes_of
from lambdas.ingest.service import Ingest
from lambdas.ingest.settings import settings

logger = Logger(service="ingest")
_of_thread = threading.local()


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer one request. May be called by several threads at once, as the local gateway does."""
    routes: OneThreadResolver | None = getattr(_of_thread, "routes", None)
    if routes is None:
        surroundings = Surroundings(now_ms=_now_ms, jitter=random.randint)
        routes = _of_thread.routes = routes_of(_ingest(), surroundings)
    return routes.resolve(event, context)


@cache
def _ingest() -> Ingest:
    ours = settings()
    s3 = s3_client(AwsSettings(), config=request_config())
    kafka = KafkaProducer(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        security=ours.kafka_security,
        delivery_timeout_s=PRODUCE_S,
    )
    return Ingest(
        flows=CachedFlows(FlowStore(s3, ours.flows_bucket)),
        producer=KafkaOrSpool(
            producer=kafka,
            spool=Spool(s3, ours.spool_bucket),
            breaker=CircuitBreaker(),
            now_ms=_now_ms,
        ),
        payloads=PayloadBucket(s3, ours.payload_bucket),
        body_bytes_max=ours.body_bytes_max,
        on_flows_unavailable=_flows_unavailable,
    )


def _flows_unavailable(problem: FlowsUnavailableError) -> None:
    logger.warning("flows unavailable", extra={"problem": str(problem)})
    count_flows_unavailable()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
