"""The errors of ingest as the caller sees them, and as we count and log them."""

from collections.abc import Callable
from typing import Final

from aws_lambda_powertools import Logger

from clients.devices.registry import RegistryUnavailableError
from clients.kafka.producer import NotDurableError
from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.errors import FleetlaneError, ProblemTag
from fleetlane.events.metrics import Dimension, FunctionMetric, Service
from lambdas.http.embedded_metrics import MetricLine
from lambdas.http.problems import OF_REQUESTS, Problem, ProblemTable
from lambdas.http.rate_limiter import RevokedDeviceError, TooManyMessagesError
from lambdas.http.senders import NotItsGatewayError
from lambdas.ingest.answers import Answer, problem_answer
from lambdas.ingest.batch_document import BatchTooLongError
from lambdas.ingest.service import BodyTooLargeError

ACCEPTED: Final = MetricLine(
    Service.INGEST,
    {FunctionMetric.ACCEPTED: "Count", FunctionMetric.BODY_BYTES: "Bytes"},
    dimension=Dimension.LANE,
)
REFUSED: Final = MetricLine(
    Service.INGEST, {FunctionMetric.REFUSED: "Count"}, dimension=Dimension.TAG
)
OVERRIDES_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.OVERRIDES_UNAVAILABLE: "Count"}
)
FLOWS_UNAVAILABLE: Final = MetricLine(Service.INGEST, {FunctionMetric.FLOWS_UNAVAILABLE: "Count"})
RECEIPTS_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.RECEIPTS_UNAVAILABLE: "Count"}
)


type Jitter = Callable[[int, int], int]

logger = Logger(service="ingest")


class NoSuchPathError(FleetlaneError):
    """The API has no such path, or not for this method."""

    reason = "no_route"
    sentence = "no such path and method"


_TABLE: Final = ProblemTable(
    tags={
        **OF_REQUESTS,
        NoSuchPathError: ProblemTag.NO_ROUTE,
        RevokedDeviceError: ProblemTag.FORBIDDEN,
        NotItsGatewayError: ProblemTag.FORBIDDEN,
        TooManyMessagesError: ProblemTag.SLOW_DOWN,
        BodyTooLargeError: ProblemTag.TOO_LARGE,
        BatchTooLongError: ProblemTag.TOO_LARGE,
        RegistryUnavailableError: ProblemTag.TRY_LATER,
        PayloadUnavailableError: ProblemTag.TRY_LATER,
        NotDurableError: ProblemTag.TRY_LATER,
    }
)


def refused(error: Exception, jitter: Jitter) -> Answer:
    """The answer to a request that failed as a whole; it is counted."""
    problem = problem_of(error, jitter)
    REFUSED.write(1, of=problem.tag)
    return problem_answer(problem)


def problem_of(error: Exception, jitter: Jitter) -> Problem:
    """Translate an error, and tell our own log of what the device cannot mend."""
    problem = _TABLE.problem_of(error, jitter=jitter)
    if not _TABLE.has(error):
        logger.error("failed", exc_info=error)
    elif problem.tag is ProblemTag.TRY_LATER:
        logger.warning("not durable", extra={"problem": str(error)})
    return problem
