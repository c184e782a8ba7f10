"""Every request of a device to ingest: single messages by the shortest way, others by a router."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clients.circuit_breaker import CircuitBreaker
from clients.devices.bound_devices import CachedBoundDevices, ManyDevices
from clients.devices.receipts import ReceiptsUnavailableError
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from fleetlane.events.lanes import Lane
from lambdas.http.rate_limiter import RateLimiter
from lambdas.ingest.answers import Answer, receipt_answer
from lambdas.ingest.batch import BatchIngest
from lambdas.ingest.http_request import inbound_from
from lambdas.ingest.intake import Intake
from lambdas.ingest.problems import ACCEPTED, Jitter, refused
from lambdas.ingest.repeats import ReceiptStore, Repeats
from lambdas.ingest.service import Ingest, PayloadStore, RecordLander
from lambdas.ingest.sink_health import ObservedLander, ObservedPayloads, SinkHealth

if TYPE_CHECKING:
    from lambdas.ingest.routes import OneThreadResolver


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


_LANE_ASKED: Final[Mapping[str, Lane]] = {"/v1/streams": Lane.STANDARD, "/v1/fast": Lane.FAST}


class Dispatcher:
    """Answers requests, in any number of threads. ``now_ms`` is the clock.

    ``POST /v1/streams/{stream}`` and ``POST /v1/fast/{stream}``, nearly all requests, are answered
    without a router: Powertools' takes longer to find the route and to write the answer than all
    else together.
    """

    def __init__(self, services: Services, *, now_ms: Callable[[], int], jitter: Jitter) -> None:
        self._services, self._now_ms, self._jitter = services, now_ms, jitter
        self._of_thread = threading.local()

    def resolve(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        """Answer a proxy event (API Gateway REST, v1)."""
        path, _, stream = event["path"].rstrip("/").rpartition("/")
        asked = _LANE_ASKED.get(path)
        if asked is None or event["httpMethod"] != "POST":
            return self._others().resolve(event, context)
        try:
            answer = self._landed(event, stream, asked)
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, a device is answered
            answer = refused(error, self._jitter)
        return answer.as_proxy()

    def _landed(self, event: Mapping[str, Any], stream: str, asked: Lane) -> Answer:
        inbound = inbound_from(event, stream=stream, asked=asked, arrival_millis=self._now_ms())
        receipt = self._services.intake.land(inbound)
        ACCEPTED.write(1, len(inbound.body), of=receipt.lane)
        return receipt_answer(receipt)

    def _others(self) -> "OneThreadResolver":
        # Slow to import, and needed by few requests.
        from lambdas.ingest.routes import other_routes  # noqa: PLC0415

        routes: OneThreadResolver | None = getattr(self._of_thread, "routes", None)
        if routes is None:
            routes = self._of_thread.routes = other_routes(
                self._services, now_ms=self._now_ms, jitter=self._jitter
            )
        return routes
