"""Where a part of the jail is missing: the job ends with a sentence, or says so and goes on."""

import pytest

from fleetlane.events.job_arguments import Sandbox
from glue_jobs.parse_lane.parse import JailOpenError, checked_jail

MISSING = {"files": "the kernel does not have it: [Errno 38] Function not implemented"}


def test_a_stage_that_requires_the_jail_ends_with_a_sentence_where_a_part_is_missing() -> None:
    with pytest.raises(JailOpenError, match="files: the kernel does not have it"):
        checked_jail(MISSING, Sandbox.REQUIRED)


def test_another_stage_goes_on_and_counts_and_logs_what_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problems = checked_jail(MISSING, Sandbox.AVAILABLE)

    assert problems == 1
    assert "part files does not hold" in caplog.text


@pytest.mark.parametrize("sandbox", Sandbox)
def test_a_whole_jail_is_fine_for_all(sandbox: Sandbox) -> None:
    assert checked_jail({}, sandbox) == 0
