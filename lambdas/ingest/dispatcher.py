"""Every request of a device to ingest: single messages by the shortest way, others by a router."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fleetlane.events.lanes import Lane
from lambdas.ingest.assembly import Services
from lambdas.ingest.http_request import inbound_from
from lambdas.ingest.problems import ACCEPTED, Answer, Jitter, receipt_answer, refused

if TYPE_CHECKING:
    from lambdas.ingest.routes import OneThreadResolver

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
        ACCEPTED.write(
            1,
            len(inbound.body),
            lane=receipt.lane,
            stream=receipt.counted_stream,
            arrival_millis=inbound.arrival_millis,
        )
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
