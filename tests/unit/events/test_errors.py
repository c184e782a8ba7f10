import pickle

import pytest

from fleetlane.events.canonical import NotJsonError
from fleetlane.events.envelope import BadEnvelopeError
from fleetlane.events.errors import FleetlaneError, ParkedReason, ProblemTag
from fleetlane.events.flows.files import BadFlowError
from fleetlane.events.job_arguments import BadArgumentsError
from fleetlane.events.names import BadNameError

ERRORS = [
    BadArgumentsError("job", "problem"),
    BadEnvelopeError("ce_id", "is missing"),
    BadFlowError("file", "problem"),
    BadNameError("stream", "Thermo", "pattern"),
    NotJsonError("problem"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_crosses_a_process_whole(error: FleetlaneError) -> None:
    crossed = pickle.loads(pickle.dumps(error))  # noqa: S301 -- our own bytes

    assert (type(crossed), vars(crossed), str(crossed)) == (type(error), vars(error), str(error))


def test_each_cause_has_a_reason_of_its_own() -> None:
    reasons = {error.reason for error in ERRORS}

    assert len(reasons) == len(ERRORS)


def test_the_errors_that_park_a_message_name_a_parked_reason() -> None:
    assert {NotJsonError.reason, BadEnvelopeError.reason} <= set(ParkedReason)


def test_the_reasons_to_park_are_the_designs() -> None:
    assert set(ParkedReason) == {
        "malformed",
        "parser_failed",
        "timeout",
        "memory",
        "crashed",
        "too_many_events",
        "event_too_large",
        "too_large",
        "payload_missing",
        "payload_corrupt",
        "no_flow",
        "unexpected_device",
        "bad_envelope",
    }


def test_the_problem_tags_and_their_statuses_are_the_designs() -> None:
    assert {str(tag): tag.status for tag in ProblemTag} == {
        "bad_request": 400,
        "unauthenticated": 401,
        "forbidden": 403,
        "no_route": 404,
        "no_method": 405,
        "too_large": 413,
        "slow_down": 429,
        "try_later": 503,
    }
