import logging
from typing import Any

import pytest

from clients.flows.store import FlowsNotPublishedError, FlowsUnavailableError
from clients.kafka.producer import NotDurableError
from fleetlane.events.errors import ProblemTag
from lambdas.http.device_request import BadRequestError
from lambdas.http.problems import Problem, Tags, translated
from lambdas.ingest.problems import problem_of


def test_what_went_wrong_inside_is_not_reported() -> None:
    problem = problem_of(NotDurableError("raw.fast", 4.0, "10.0.0.7 is down"), jitter=_least)

    assert "10.0.0.7" not in problem.detail


def test_devices_are_sent_back_at_different_times() -> None:
    problems = {
        problem_of(NotDurableError("raw.fast", 4.0, "down"), jitter=jitter).retry_after_s
        for jitter in (_least, lambda _, most: most)
    }

    assert problems == {5, 15}


def test_an_error_of_a_known_kind_is_no_bug_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    logger: Any = logging.getLogger("problems")
    tags: Tags = {FlowsUnavailableError: ProblemTag.TRY_LATER}
    narrower = FlowsNotPublishedError("current", "there are none")

    problem = translated(narrower, tags, jitter=_least, logger=logger, not_done="not issued")

    assert (problem.tag, caplog.messages) == (ProblemTag.TRY_LATER, ["not issued"])


def test_a_request_that_no_retry_can_mend_names_no_time() -> None:
    assert problem_of(BadRequestError("no"), jitter=_least).retry_after_s is None


@pytest.mark.parametrize("tag", ProblemTag)
def test_every_tag_has_a_title(tag: ProblemTag) -> None:
    assert Problem(tag=tag, detail="").members()["title"]


def _least(least: int, _: int) -> int:
    return least
