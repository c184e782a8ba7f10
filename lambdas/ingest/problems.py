"""The errors of ingest as the caller sees them."""

from collections.abc import Callable
from typing import Final

from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from clients.admission import RevokedDeviceError, TooManyMessagesError
from clients.device_registry import RegistryUnavailableError
from clients.kafka_producer import NotDurableError
from clients.payload_bucket import PayloadUnavailableError
from clients.problems import OF_REQUESTS, Problem, ProblemTable
from fleetlane.events.errors import ProblemTag
from lambdas.ingest.batch import NotItsGatewayError
from lambdas.ingest.batch_document import BatchTooLongError
from lambdas.ingest.service import BodyTooLargeError

_TABLE: Final = ProblemTable(
    tags={
        **OF_REQUESTS,
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
_NO_ROUTE: Final = Problem(tag=ProblemTag.NO_ROUTE, detail="no such path and method")


def is_expected(error: Exception) -> bool:
    """Whether an error has its place in the table."""
    return isinstance(error, NotFoundError) or _TABLE.has(error)


def problem_of(error: Exception, *, jitter: Callable[[int, int], int]) -> Problem:
    """Translate an error, as the table does."""
    if isinstance(error, NotFoundError):
        return _NO_ROUTE
    return _TABLE.problem_of(error, jitter=jitter)
