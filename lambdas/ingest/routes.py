"""The routes of ingest other than those of single messages: batches and health."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.http.problems import Problem
from lambdas.ingest.assembly import Services
from lambdas.ingest.batch import Outcome
from lambdas.ingest.http_request import batch_from
from lambdas.ingest.problems import (
    ACCEPTED,
    REFUSED,
    Answer,
    Jitter,
    NoSuchPathError,
    batch_answer,
    health_answer,
    problem_of,
    refused,
)
from lambdas.ingest.service import Receipt


class OneThreadResolver(APIGatewayRestResolver):
    """Routes the requests of one thread.

    Powertools keeps the request at hand on a class that all threads share, where a second request
    would take the first one's place: there the device of one would send the body of another.
    """

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        self.current_event = APIGatewayProxyEvent(dict(event))
        return super().resolve(event, context)


def other_routes(
    services: Services, *, now_ms: Callable[[], int], jitter: Jitter
) -> OneThreadResolver:
    """Build the routes; for one thread."""
    app = OneThreadResolver()

    @app.post("/v1/batch")
    def post_batch() -> Response[str]:
        arrival_millis = now_ms()
        batch = batch_from(app.current_event.raw_event, arrival_millis=arrival_millis)
        outcomes = services.batches.land(batch)
        return _response(_batch_answer(outcomes, jitter, arrival_millis=arrival_millis))

    @app.get("/v1/health")
    def get_health() -> Response[str]:
        return _response(health_answer(services.health.conditions()))

    app.not_found(lambda _: _response(refused(NoSuchPathError(), jitter)))
    app.exception_handler(Exception)(lambda error: _response(refused(error, jitter)))
    return app


type _Counted = tuple[Lane, str | None]


def _batch_answer(outcomes: Sequence[Outcome], jitter: Jitter, *, arrival_millis: int) -> Answer:
    results = [one.result for one in outcomes]
    answers = [one if isinstance(one, Receipt) else problem_of(one, jitter) for one in results]
    body_bytes = [one.body_bytes for one in outcomes]
    _count_batch(answers, body_bytes=body_bytes, arrival_millis=arrival_millis)
    return batch_answer(answers)


def _count_batch(
    outcomes: Sequence[Receipt | Problem], *, body_bytes: Sequence[int], arrival_millis: int
) -> None:
    """Write one line of metrics a lane and stream, and one a tag, however many entries there are.

    Streams without a flow are one together.
    """
    messages, bytes_of, refusals = Counter[_Counted](), Counter[_Counted](), Counter[ProblemTag]()
    for outcome, size_bytes in zip(outcomes, body_bytes, strict=True):
        if isinstance(outcome, Problem):
            refusals[outcome.tag] += 1
        else:
            counted = outcome.lane, outcome.counted_stream
            messages[counted] += 1
            bytes_of[counted] += size_bytes
    for (lane, stream), count in messages.items():
        size_bytes = bytes_of[lane, stream]
        ACCEPTED.write(count, size_bytes, lane=lane, stream=stream, arrival_millis=arrival_millis)
    for tag, count in refusals.items():
        REFUSED.write(count, of=tag)


def _response(answer: Answer) -> Response[str]:
    retry_after_s = answer.retry_after_s
    headers: dict[str, str | list[str]] = (
        {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    )
    return Response(answer.status, answer.content_type, answer.body, headers)
