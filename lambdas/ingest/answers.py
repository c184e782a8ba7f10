"""Outcomes as HTTP answers: receipts, problems, and both together for a batch."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from clients.problems import PROBLEM_CONTENT_TYPE, Problem
from lambdas.ingest.service import Receipt
from lambdas.ingest.sink_health import Condition, Sink

_JSON: Final = "application/json"


def receipt_answer(receipt: Receipt) -> Response[str]:
    """202: the message is durable."""
    return Response(HTTPStatus.ACCEPTED, _JSON, json.dumps(receipt_members(receipt)))


def problem_answer(problem: Problem) -> Response[str]:
    """The problem's own status; ``Retry-After`` where it is worth another try."""
    headers = _retry_after(problem.retry_after_s)
    return Response(problem.tag.status, PROBLEM_CONTENT_TYPE, problem.body(), headers)


def batch_answer(outcomes: Sequence[Receipt | Problem]) -> Response[str]:
    """202 if every entry is durable, else 207: only a 202 may be taken as it is.

    Each entry's receipt or problem stands at the entry's place, with a status of its own.
    """
    problems = [one for one in outcomes if isinstance(one, Problem)]
    again_s = max((one.retry_after_s or 0 for one in problems), default=0)
    status = HTTPStatus.MULTI_STATUS if problems else HTTPStatus.ACCEPTED
    body = json.dumps({"receipts": [_entry_members(one) for one in outcomes]})
    return Response(status, _JSON, body, _retry_after(again_s or None))


def health_answer(conditions: Mapping[Sink, Condition]) -> Response[str]:
    """200 whatever the sinks are like: it says that this API answers."""
    return Response(HTTPStatus.OK, _JSON, json.dumps({"status": "ok", "sinks": dict(conditions)}))


def receipt_members(receipt: Receipt) -> dict[str, Any]:
    """What stands in a receipt's JSON; ``notices`` only where there are some."""
    members: dict[str, Any] = {
        "id": receipt.id,
        "lane": receipt.lane,
        "landed": receipt.landed,
        "next_upload_after_s": receipt.next_upload_after_s,
    }
    return members | ({"notices": receipt.notices} if receipt.notices else {})


def _entry_members(outcome: Receipt | Problem) -> dict[str, Any]:
    if isinstance(outcome, Receipt):
        return {"status": HTTPStatus.ACCEPTED.value, **receipt_members(outcome)}
    again_s = outcome.retry_after_s
    return outcome.members() | ({} if again_s is None else {"retry_after_s": again_s})


def _retry_after(seconds: int | None) -> dict[str, str | list[str]]:
    return {} if seconds is None else {"Retry-After": str(seconds)}
