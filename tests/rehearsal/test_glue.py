"""What is deployed starts and works on Glue; with a known defect it fails, and says of what."""

from dataclasses import replace
from pathlib import Path

import pytest

from fleetlane.events.lanes import Lane
from tests.rehearsal.defects import cause_of_failure, jar_in_front, without
from tests.rehearsal.deploys import NEW, deployed_over_running_jobs
from tests.rehearsal.glue import Glue
from tests.rehearsal.messages import land
from tests.rehearsal.rehearsal import (
    LAKE,
    interpreting,
    kept_by,
    other_lanes_and_what_resumes,
    parsed_by,
    running,
)

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

MESSAGES = 6
LIMIT_S = 900.0
"""Of each wait; on two free cores a first batch comes within half a minute."""

AWAY_S_MAX = 600.0
"""Two minutes are promised, of two free cores; this is a bound for a machine that does more."""


def test_a_lane_and_the_lake_do_their_work(glue: Glue, tmp_path: Path) -> None:
    receipts = land(glue.stage.ground, Lane.STANDARD, messages=MESSAGES)

    with running(glue, "standard", tmp_path) as lane, running(glue, LAKE, tmp_path) as lake:
        parsed = parsed_by(glue, "standard", receipts, lane, limit_s=LIMIT_S)
        kept = kept_by(glue, receipts, lake, limit_s=LIMIT_S)

    assert (parsed.parsed, parsed.lost, kept.lost) == (MESSAGES, 0, 0)


@pytest.mark.full_length
def test_the_other_lanes_do_their_work_and_what_was_killed_goes_on_from_its_checkpoints(
    glue: Glue, tmp_path: Path
) -> None:
    engine = interpreting(glue)

    came = other_lanes_and_what_resumes(engine, tmp_path, messages=MESSAGES, limit_s=LIMIT_S)

    assert (came.parsed.parsed, came.parsed.lost) == (len(Lane) * MESSAGES, 0)
    assert (came.kept.lost, came.kept.invented) == (0, 0)


@pytest.mark.full_length
def test_a_deploy_brings_jobs_back_in_new_code_and_one_that_does_not_start_goes_back(
    glue: Glue, tmp_path: Path
) -> None:
    engine, jobs = interpreting(glue), (LAKE, "standard")

    came = deployed_over_running_jobs(engine, tmp_path, applications=jobs, limit_s=LIMIT_S)

    assert (came.failed[:2], came.codes) == (["", ""], dict.fromkeys(jobs, NEW))
    assert "fleetlane-lake does not run as deployed" in came.failed[2]
    assert came.says_new
    assert (came.ledger.is_balanced, came.ledger.lost) == (True, 0)
    assert came.ledger.accepted
    assert max(came.away_s.values()) < AWAY_S_MAX


@pytest.mark.full_length
def test_a_jar_with_another_netty_in_front_ends_spark(glue: Glue, tmp_path: Path) -> None:
    change = jar_in_front(glue.stage, "aws-msk-iam-auth-*-all.jar", of="--extra-jars")

    cause = cause_of_failure(replace(glue, change=change), "standard", tmp_path, limit_s=LIMIT_S)

    assert "NoSuchMethodError" in cause


@pytest.mark.full_length
def test_an_sdk_beside_glues_own_is_found(glue: Glue, tmp_path: Path) -> None:
    change = jar_in_front(glue.stage, "iceberg-aws-bundle-*.jar", of="--extra-jars")

    cause = cause_of_failure(replace(glue, change=change), "standard", tmp_path, limit_s=LIMIT_S)

    assert "Glue brings the same" in cause


@pytest.mark.full_length
def test_an_installer_that_asks_an_index_is_found(glue: Glue, tmp_path: Path) -> None:
    change = without("--python-modules-installer-option")

    cause = cause_of_failure(replace(glue, change=change), "standard", tmp_path, limit_s=LIMIT_S)

    assert "pip asked an index" in cause


@pytest.mark.full_length
def test_a_lake_that_is_told_no_region_is_found(glue: Glue, tmp_path: Path) -> None:
    change = without("--region")

    cause = cause_of_failure(replace(glue, change=change), LAKE, tmp_path, limit_s=LIMIT_S)

    assert "region" in cause
