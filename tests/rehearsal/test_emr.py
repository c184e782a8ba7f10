"""What is deployed starts and works on EMR; with a known defect it fails, and says of what."""

from dataclasses import replace
from pathlib import Path

import pytest

from fleetlane.events.lanes import Lane
from tests.rehearsal.defects import Settings, cause_of_failure, without
from tests.rehearsal.deploys import NEW, deployed_over_running_jobs
from tests.rehearsal.emr import Emr
from tests.rehearsal.messages import land
from tests.rehearsal.rehearsal import (
    LAKE,
    interpreting,
    kept_by,
    other_lanes_and_what_resumes,
    parsed_by,
    running,
)

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.full_length]

MESSAGES = 6
LIMIT_S = 900.0
"""Of each wait; on two free cores a first batch comes within half a minute."""

AWAY_S_MAX = 600.0
"""Two minutes are promised, of two free cores; this is a bound for a machine that does more."""


def test_a_lane_and_the_lake_do_their_work(emr: Emr, tmp_path: Path) -> None:
    receipts = land(emr.stage.ground, Lane.STANDARD, messages=MESSAGES)

    with running(emr, "standard", tmp_path) as lane, running(emr, LAKE, tmp_path) as lake:
        parsed = parsed_by(emr, "standard", receipts, lane, limit_s=LIMIT_S)
        kept = kept_by(emr, receipts, lake, limit_s=LIMIT_S)

    assert (parsed.parsed, parsed.lost, kept.lost) == (MESSAGES, 0, 0)


def test_the_other_lanes_do_their_work_and_what_was_killed_goes_on_from_its_checkpoints(
    emr: Emr, tmp_path: Path
) -> None:
    engine = interpreting(emr)

    came = other_lanes_and_what_resumes(engine, tmp_path, messages=MESSAGES, limit_s=LIMIT_S)

    assert (came.parsed.parsed, came.parsed.lost) == (len(Lane) * MESSAGES, 0)
    assert (came.kept.lost, came.kept.invented) == (0, 0)


def test_a_deploy_brings_jobs_back_in_new_code_and_one_that_does_not_start_goes_back(
    emr: Emr, tmp_path: Path
) -> None:
    engine, jobs = interpreting(emr), (LAKE, "standard")

    came = deployed_over_running_jobs(engine, tmp_path, applications=jobs, limit_s=LIMIT_S)

    assert (came.failed[:2], came.codes) == (["", ""], dict.fromkeys(jobs, NEW))
    assert "fleetlane-lake does not run as deployed" in came.failed[2]
    assert came.says_new
    assert (came.ledger.is_balanced, came.ledger.lost) == (True, 0)
    assert came.ledger.accepted
    assert max(came.away_s.values()) < AWAY_S_MAX


def test_where_no_python_is_chosen_a_job_has_none_of_its_packages(emr: Emr, tmp_path: Path) -> None:
    change = without("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")

    cause = cause_of_failure(replace(emr, change=change), "standard", tmp_path, limit_s=LIMIT_S)

    assert "ModuleNotFoundError" in cause


def test_a_lake_without_the_iceberg_that_it_brings_is_found(emr: Emr, tmp_path: Path) -> None:
    def change(settings: Settings) -> Settings:
        jars = [one for one in settings["spark.jars"].split(",") if "/iceberg-" not in one]
        return {**settings, "spark.jars": ",".join(jars)}

    cause = cause_of_failure(replace(emr, change=change), LAKE, tmp_path, limit_s=LIMIT_S)

    assert "org.apache.iceberg.spark.SparkCatalog" in cause


def test_a_run_that_asks_for_more_than_its_application_may_have_is_found(
    emr: Emr, tmp_path: Path
) -> None:
    def change(settings: Settings) -> Settings:
        return {**settings, "spark.executor.memory": "16g"}

    cause = cause_of_failure(replace(emr, change=change), "standard", tmp_path, limit_s=LIMIT_S)

    assert "workers would be missing" in cause
