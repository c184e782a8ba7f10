"""The routes of ingest: translate the request, land it, answer."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from clients.problems import PROBLEM_CONTENT_TYPE, is_expected, problem_of
from fleetlane.events.lanes import Lane
from lambdas.ingest.http_request import upload_from
from lambdas.ingest.metrics import count_accepted, count_refused
from lambdas.ingest.service import Ingest

logger = Logger(service="ingest")


class OneThreadResolver(APIGatewayRestResolver):
    """Routes the requests of one thread.

    Powertools keeps the request at hand on a class that all threads share, where a second request
    would take the first one's place: there the device of one would send the body of another.
    """

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        self.current_event = APIGatewayProxyEvent(dict(event))
        return super().resolve(event, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What differs between a test and the world: the time, and chance."""

    now_ms: Callable[[], int]
    jitter: Callable[[int, int], int]


def routes_of(ingest: Ingest, surroundings: Surroundings) -> OneThreadResolver:
    """Build the routes; for one thread."""
    app = OneThreadResolver()

    @app.post("/v1/streams/<stream>")
    def post_message(stream: str) -> Response[str]:
        return accepted(stream, Lane.STANDARD)

    @app.post("/v1/fast/<stream>")
    def post_urgent_message(stream: str) -> Response[str]:
        return accepted(stream, Lane.FAST)

    @app.get("/v1/health")
    def get_health() -> Response[str]:
        return Response(200, "application/json", json.dumps({"status": "ok"}))

    def accepted(stream: str, asked: Lane) -> Response[str]:
        arrival_millis = surroundings.now_ms()
        upload = upload_from(
            app.current_event.raw_event, stream=stream, asked=asked, arrival_millis=arrival_millis
        )
        receipt = ingest.land(upload)
        count_accepted(receipt, len(upload.body))
        return Response(202, "application/json", json.dumps(dataclasses.asdict(receipt)))

    app.exception_handler(Exception)(lambda error: _refusal(error, surroundings.jitter))
    return app


def _refusal(error: Exception, jitter: Callable[[int, int], int]) -> Response[str]:
    problem = problem_of(error, jitter=jitter)
    if not is_expected(error):
        logger.error("failed", exc_info=error)
    elif problem.retry_after_s is not None:
        logger.warning("not durable", extra={"problem": str(error)})
    count_refused(problem.tag)
    headers = {} if problem.retry_after_s is None else {"Retry-After": str(problem.retry_after_s)}
    return Response(problem.tag.status, PROBLEM_CONTENT_TYPE, problem.body(), headers)
