"""Every request of a device to ingest: single messages by the shortest way, others by a router."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lambdas.ingest.assembly import Services
from lambdas.ingest.message_route import MessageRoute
from lambdas.ingest.problems import Jitter

if TYPE_CHECKING:
    from lambdas.ingest.routes import OneThreadResolver


class Dispatcher:
    """Answers requests, as many threads at once as like. ``now_ms`` and ``jitter``: the world's."""

    def __init__(self, services: Services, *, now_ms: Callable[[], int], jitter: Jitter) -> None:
        self._services, self._now_ms, self._jitter = services, now_ms, jitter
        self._messages = MessageRoute(reception=services.reception, now_ms=now_ms, jitter=jitter)
        self._of_thread = threading.local()

    def resolve(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        """Answer a proxy event (API Gateway REST, v1)."""
        answer = self._messages.answer(event)
        if answer is not None:
            return answer.as_proxy()
        return self._others().resolve(event, context)

    def _others(self) -> "OneThreadResolver":
        from lambdas.ingest.routes import other_routes  # noqa: PLC0415 - dear, and rarely needed

        routes: OneThreadResolver | None = getattr(self._of_thread, "routes", None)
        if routes is None:
            routes = self._of_thread.routes = other_routes(
                self._services, now_ms=self._now_ms, jitter=self._jitter
            )
        return routes
