"""The routes of ingest: translate the request, land it, answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from clients.problems import Problem
from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.ingest.answers import batch_answer, health_answer, problem_answer, receipt_answer
from lambdas.ingest.assembly import Services
from lambdas.ingest.batch import Outcome
from lambdas.ingest.batch_accounts import count_batch
from lambdas.ingest.http_request import batch_from, upload_from
from lambdas.ingest.metrics import count_accepted, count_refused
from lambdas.ingest.problems import is_expected, problem_of
from lambdas.ingest.service import Receipt

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


def routes_of(services: Services, surroundings: Surroundings) -> OneThreadResolver:
    """Build the routes; for one thread."""
    app = OneThreadResolver()

    @app.post("/v1/streams/<stream>")
    def post_message(stream: str) -> Response[str]:
        return accepted(stream, Lane.STANDARD)

    @app.post("/v1/fast/<stream>")
    def post_urgent_message(stream: str) -> Response[str]:
        return accepted(stream, Lane.FAST)

    @app.post("/v1/batch")
    def post_batch() -> Response[str]:
        event = app.current_event.raw_event
        outcomes = services.batches.land(batch_from(event, arrival_millis=surroundings.now_ms()))
        return _batch_answer(outcomes, surroundings.jitter)

    @app.get("/v1/health")
    def get_health() -> Response[str]:
        return health_answer(services.health.conditions())

    def accepted(stream: str, asked: Lane) -> Response[str]:
        arrival_millis = surroundings.now_ms()
        upload = upload_from(
            app.current_event.raw_event, stream=stream, asked=asked, arrival_millis=arrival_millis
        )
        receipt = services.reception.land(upload)
        count_accepted(receipt.lane, body_bytes=len(upload.body))
        return receipt_answer(receipt)

    app.exception_handler(Exception)(lambda error: _refused(error, surroundings.jitter))
    return app


def _batch_answer(outcomes: Sequence[Outcome], jitter: Callable[[int, int], int]) -> Response[str]:
    results = [one.result for one in outcomes]
    told = [one if isinstance(one, Receipt) else _problem(one, jitter) for one in results]
    count_batch(told, body_bytes=[one.body_bytes for one in outcomes])
    return batch_answer(told)


def _refused(error: Exception, jitter: Callable[[int, int], int]) -> Response[str]:
    problem = _problem(error, jitter)
    count_refused(problem.tag)
    return problem_answer(problem)


def _problem(error: Exception, jitter: Callable[[int, int], int]) -> Problem:
    """Translate an error, and tell our own log of what the device cannot mend."""
    problem = problem_of(error, jitter=jitter)
    if not is_expected(error):
        logger.error("failed", exc_info=error)
    elif problem.tag is ProblemTag.TRY_LATER:
        logger.warning("not durable", extra={"problem": str(error)})
    return problem
