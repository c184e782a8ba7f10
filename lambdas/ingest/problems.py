"""The errors of ingest as the caller sees them, and as we count and log them."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aws_lambda_powertools import Logger

from clients.kafka.producer import NotDurableError
from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.errors import FleetlaneError, ProblemTag
from fleetlane.events.metrics import FunctionMetric, Service
from lambdas.http.embedded_metrics import AcceptedLine, MetricLine
from lambdas.http.problems import (
    OF_REQUESTS,
    Answer,
    Asker,
    Jitter,
    Problem,
    Tags,
    answer,
    refused_line,
    translated,
)
from lambdas.ingest.batch_document import BatchTooLargeError, BatchTooLongError
from lambdas.ingest.service import BodyTooLargeError, Receipt
from lambdas.ingest.sink_health import Condition, Sink

_ACCEPTED: Final = HTTPStatus.ACCEPTED.value


def receipt_answer(receipt: Receipt) -> Answer:
    """202: the message is durable."""
    return answer(_ACCEPTED, _json(receipt_members(receipt)))


def batch_answer(outcomes: Sequence[Receipt | Problem]) -> Answer:
    """202 if every entry is durable, else 207: only a 202 may be taken as it is.

    Each entry's receipt or problem is at the entry's place, with a status of its own.
    """
    problems = [one for one in outcomes if isinstance(one, Problem)]
    again_s = max((one.retry_after_s or 0 for one in problems), default=0)
    return answer(
        HTTPStatus.MULTI_STATUS.value if problems else _ACCEPTED,
        _json({"receipts": [_entry_members(one) for one in outcomes]}),
        retry_after_s=again_s or None,
    )


def health_answer(conditions: Mapping[Sink, Condition]) -> Answer:
    """200 whatever the sinks are like: it says that this API answers."""
    return answer(HTTPStatus.OK.value, _json({"status": "ok", "sinks": dict(conditions)}))


def receipt_members(receipt: Receipt) -> dict[str, Any]:
    """The members of a receipt's JSON; ``notices`` only where there are some."""
    members: dict[str, Any] = {
        "id": receipt.id,
        "lane": receipt.lane,
        "landed": receipt.landed,
        "next_upload_after_s": receipt.next_upload_after_s,
    }
    if receipt.notices:
        members["notices"] = receipt.notices
    return members


def _entry_members(outcome: Receipt | Problem) -> dict[str, Any]:
    if isinstance(outcome, Receipt):
        return {"status": _ACCEPTED, **receipt_members(outcome)}
    again_s = outcome.retry_after_s
    return outcome.members() | ({} if again_s is None else {"retry_after_s": again_s})


def _json(members: Mapping[str, Any]) -> str:
    return msgspec.json.encode(members).decode()


ACCEPTED: Final = AcceptedLine(Service.INGEST)
REFUSED: Final = refused_line(Service.INGEST)
OVERRIDES_UNAVAILABLE: Final = MetricLine(Service.INGEST, FunctionMetric.OVERRIDES_UNAVAILABLE)
FLOWS_UNAVAILABLE: Final = MetricLine(Service.INGEST, FunctionMetric.FLOWS_UNAVAILABLE)
RECEIPTS_UNAVAILABLE: Final = MetricLine(Service.INGEST, FunctionMetric.RECEIPTS_UNAVAILABLE)

logger = Logger(service="ingest")


class NoSuchPathError(FleetlaneError):
    """The API has no such path."""

    reason = "no_route"
    sentence = "there is no such path"


class NoSuchMethodError(FleetlaneError):
    """The API has the path, and another method for it."""

    reason = "no_method"
    method: str
    allow: str
    sentence = "the method {method} is not allowed here; use {allow}"


_TAGS: Final[Tags] = {
    **OF_REQUESTS,
    NoSuchPathError: ProblemTag.NO_ROUTE,
    NoSuchMethodError: ProblemTag.NO_METHOD,
    BodyTooLargeError: ProblemTag.TOO_LARGE,
    BatchTooLargeError: ProblemTag.TOO_LARGE,
    BatchTooLongError: ProblemTag.TOO_LARGE,
    PayloadUnavailableError: ProblemTag.TRY_LATER,
    NotDurableError: ProblemTag.TRY_LATER,
}


def refused(error: Exception, jitter: Jitter, event: Mapping[str, Any]) -> Answer:
    """The answer to a request that failed as a whole; it is counted."""
    problem = problem_of(error, jitter)
    REFUSED.write(1, of=problem.tag, about=Asker.of(event))
    return problem.answer()


def problem_of(error: Exception, jitter: Jitter) -> Problem:
    return translated(error, _TAGS, jitter=jitter, logger=logger, not_done="not durable")
