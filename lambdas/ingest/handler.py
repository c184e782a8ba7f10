"""What Lambda calls for each request of a device."""

import random
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from aws_lambda_powertools import Logger

from clients.admission import Admission
from clients.aws import AwsSettings, s3_client
from clients.ceilings import Verdict
from clients.flow_store import CachedFlows, FlowStore, FlowsUnavailableError
from clients.kafka_producer import KafkaProducer
from clients.overrides import CachedOverrides, OverridesStore, OverridesUnavailableError
from clients.payload_bucket import PayloadBucket
from lambdas.ingest.metrics import count_flows_unavailable, count_overrides_unavailable
from lambdas.ingest.routes import OneThreadResolver, Surroundings, routes_of
from lambdas.ingest.service import Ingest
from lambdas.ingest.settings import settings

logger = Logger(service="ingest")
_of_thread = threading.local()

_STORE_WAIT_S: Final = 0.5
"""The longest that a request waits for flows or overrides to be read again."""


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
    s3 = s3_client(AwsSettings())
    overrides = CachedOverrides(
        OverridesStore(s3, ours.overrides_bucket),
        on_unavailable=_overrides_unavailable,
        max_age_s=ours.overrides_max_age_s,
        wait_s=_STORE_WAIT_S,
    )
    return Ingest(
        admission=Admission(overrides, ceilings=ours.ceilings, on_over_ceiling=_over_ceiling),
        flows=CachedFlows(FlowStore(s3, ours.flows_bucket), wait_s=_STORE_WAIT_S),
        producer=KafkaProducer(
            bootstrap_servers=ours.kafka_bootstrap_servers, security=ours.kafka_security
        ),
        payloads=PayloadBucket(s3, ours.payload_bucket),
        body_bytes_max=ours.body_bytes_max,
        on_flows_unavailable=_flows_unavailable,
    )


def _flows_unavailable(problem: FlowsUnavailableError) -> None:
    logger.warning("flows unavailable", extra={"problem": str(problem)})
    count_flows_unavailable()


def _overrides_unavailable(problem: OverridesUnavailableError) -> None:
    logger.warning("overrides unavailable", extra={"problem": str(problem)})
    count_overrides_unavailable()


def _over_ceiling(device_id: str, verdict: Verdict) -> None:
    logger.warning("over its ceiling", extra={"device_id": device_id, "verdict": verdict})


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
