"""Ingest put together: from what it stands on to what its routes call."""

from collections.abc import Callable
from dataclasses import dataclass

from clients.circuit_breaker import CircuitBreaker
from clients.devices.bound_devices import CachedBoundDevices, ManyDevices
from clients.devices.receipts import ReceiptsUnavailableError
from clients.flows.store import FlowsUnavailableError
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.batch import BatchIngest
from lambdas.ingest.rate_limiter import Admittance
from lambdas.ingest.reception import Reception
from lambdas.ingest.repeats import ReceiptStore, Repeats
from lambdas.ingest.service import Flows, Ingest, PayloadStore, RecordLander
from lambdas.ingest.sink_health import SinkHealth, WatchedLander, WatchedPayloads


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestDependencies:
    """What ingest stands on, and who is told when a part of it fails. All for many threads."""

    rate_limiter: RateLimiter
    flows: Flows
    producer: RecordLander
    payloads: PayloadStore
    receipts: ReceiptStore
    devices: ManyDevices
    body_bytes_max: int
    on_flows_unavailable: Callable[[FlowsUnavailableError], None]
    on_receipts_unavailable: Callable[[ReceiptsUnavailableError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What stands behind the routes; for all threads."""

    reception: Admittance
    batches: BatchIngest
    health: SinkHealth


def services_on(dependencies: IngestDependencies) -> Services:
    """Put ingest together; nothing is asked of anybody yet."""
    health = SinkHealth()
    ingest = Ingest(
        flows=dependencies.flows,
        producer=WatchedLander(dependencies.producer, health),
        payloads=WatchedPayloads(dependencies.payloads, health),
        body_bytes_max=dependencies.body_bytes_max,
        on_flows_unavailable=dependencies.on_flows_unavailable,
    )
    repeats = Repeats(
        dependencies.receipts,
        on_unavailable=dependencies.on_receipts_unavailable,
        breaker=CircuitBreaker(),
    )
    reception = Admittance(
        rate_limiter=dependencies.rate_limiter,
        lander=Reception(flows=dependencies.flows, lander=ingest, repeats=repeats),
    )
    batches = BatchIngest(
        lander=reception,
        devices=CachedBoundDevices(dependencies.devices),
        check_size=ingest.check_size,
    )
    return Services(reception=reception, batches=batches, health=health)
