"""Ingest put together: from its dependencies to what its routes call."""

from collections.abc import Callable
from dataclasses import dataclass

from clients.circuit_breaker import CircuitBreaker
from clients.devices.bound_devices import CachedBoundDevices, ManyDevices
from clients.devices.receipts import ReceiptsUnavailableError
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.batch import BatchIngest
from lambdas.ingest.intake import Intake
from lambdas.ingest.repeats import ReceiptStore, Repeats
from lambdas.ingest.service import Ingest, PayloadStore, RecordLander
from lambdas.ingest.sink_health import ObservedLander, ObservedPayloads, SinkHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestDependencies:
    """The clients of ingest, and whom to call when one fails. All may be used by many threads."""

    rate_limiter: RateLimiter
    flows: CurrentFlows
    producer: RecordLander
    payloads: PayloadStore
    receipts: ReceiptStore
    devices: ManyDevices
    body_bytes_max: int
    on_flows_unavailable: Callable[[FlowsUnavailableError], None]
    on_receipts_unavailable: Callable[[ReceiptsUnavailableError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the routes call; for all threads."""

    intake: Intake
    batches: BatchIngest
    health: SinkHealth


def services_on(dependencies: IngestDependencies) -> Services:
    """Put ingest together; nothing is called yet."""
    health = SinkHealth()
    ingest = Ingest(
        producer=ObservedLander(dependencies.producer, health),
        payloads=ObservedPayloads(dependencies.payloads, health),
        body_bytes_max=dependencies.body_bytes_max,
    )
    intake = Intake(
        rate_limiter=dependencies.rate_limiter,
        flows=dependencies.flows,
        ingest=ingest,
        repeats=Repeats(
            dependencies.receipts,
            on_unavailable=dependencies.on_receipts_unavailable,
            breaker=CircuitBreaker(),
        ),
        on_flows_unavailable=dependencies.on_flows_unavailable,
    )
    batches = BatchIngest(
        intake=intake,
        devices=CachedBoundDevices(dependencies.devices),
        check_size=ingest.check_size,
    )
    return Services(intake=intake, batches=batches, health=health)
