"""A deploy over running jobs, by the templates' own state machines and custom resources."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from fleetlane.events.times import HOUR_MS
from tests.infra.deploys.cloud_formation import Stack
from tests.infra.deploys.emr import ATTEMPTS_MAX
from tests.infra.deploys.world import World
from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk

IN_ORDER = ["lake", "slow", "bulk", "standard", "fast"]
NEW, BROKEN = "0000000000000new", "00000000000bad00"


@dataclass
class Stage:
    """A stage that is deployed, and all of whose jobs run."""

    template: Mapping[str, Any]
    world: World
    stack: Stack

    @property
    def code(self) -> str:
        return code_in(self.template)

    def deploy(self, code: str, *, fails_after: str = "", **changes: str) -> str:
        text = json.dumps(self.template).replace(self.code, code)
        for old, new in changes.items():
            text = text.replace(old.replace("_", " "), new)
        return self.stack.deploy(json.loads(text), fails_after=fails_after)

    def all_run(self, code: str) -> bool:
        return self.world.running() == {f"fleetlane-{name}": code for name in sorted(IN_ORDER)}

    def begun(self) -> list[str]:
        names = [name.removeprefix("fleetlane-") for name, _ in self.world.begun]
        self.world.begun.clear()
        return names


def code_in(template: Mapping[str, Any]) -> str:
    found = re.search(r"jobs/([0-9a-f]{16})/host.py", json.dumps(template))
    assert found is not None
    return found[1]


def deployed(stage: Synthesized, *, is_glue: bool) -> Stage:
    template = stage.templates["processing"]
    machines = stage.resources("AWS::StepFunctions::StateMachine", of="processing")
    [waiter] = [name for name in machines if name.startswith("RestartsCall")]
    world = World(is_glue=is_glue)
    made = Stage(template, world, Stack(world, waiter=waiter))
    failed = made.stack.deploy(template)
    assert failed == ""
    return made


@pytest.fixture(params=["glue", "emr"])
def stage(request: pytest.FixtureRequest, stage_named: Callable[[str], Synthesized]) -> Stage:
    is_glue = request.param == "glue"
    return deployed(stage_named("dev" if is_glue else "staging"), is_glue=is_glue)


@pytest.fixture
def on_emr(staging: Synthesized) -> Stage:
    return deployed(staging, is_glue=False)


def test_a_first_deploy_ends_once_every_job_runs(stage: Stage) -> None:
    assert stage.all_run(stage.code)
    assert stage.begun() == IN_ORDER


def test_a_deploy_brings_each_job_back_in_new_code_and_what_must_be_fast_last(stage: Stage) -> None:
    stage.begun()

    failed = stage.deploy(NEW)

    assert (failed, stage.begun()) == ("", IN_ORDER)
    assert stage.all_run(NEW)


def test_a_job_ends_between_its_batches_and_never_runs_twice_at_once(stage: Stage) -> None:
    stage.deploy(NEW)

    ended = {run.state for run in stage.world.engine.runs if run.state != "RUNNING"}
    assert ended <= {"SUCCEEDED", "SUCCESS"}
    assert set(stage.world.engine.most_at_once.values()) == {1}


def test_each_job_is_away_for_less_than_two_minutes(stage: Stage) -> None:
    began_ms = stage.world.clock.now_ms

    stage.deploy(NEW)

    assert stage.world.clock.now_ms - began_ms < len(IN_ORDER) * 120_000


def test_a_deploy_that_changed_no_job_restarts_none(stage: Stage) -> None:
    runs = len(stage.world.engine.runs)

    failed = stage.deploy(stage.code)

    assert (failed, len(stage.world.engine.runs)) == ("", runs)


def test_a_job_that_does_not_start_goes_back_and_no_other_is_touched(stage: Stage) -> None:
    stage.begun()
    stage.world.broken = {BROKEN}

    failed = stage.deploy(BROKEN)

    assert re.search(
        "job fleetlane-lake does not run as deployed: ImportError: it is broken", failed
    )
    assert stage.all_run(stage.code)
    assert stage.begun() == ["lake"]


def test_going_back_does_not_wait_for_what_emr_repeats_in_vain(on_emr: Stage) -> None:
    on_emr.world.broken = {BROKEN}

    on_emr.deploy(BROKEN)

    broken = [run for run in on_emr.world.engine.runs if BROKEN in json.dumps(run.given)]
    assert [run.state for run in broken] == ["CANCELLED"]
    assert broken[0].attempt < ATTEMPTS_MAX
    assert on_emr.all_run(on_emr.code)


def test_a_job_that_runs_but_does_not_begin_goes_back_too(stage: Stage) -> None:
    stage.world.idle = {NEW}
    before_ms = stage.world.clock.now_ms

    failed = stage.deploy(NEW)

    assert "fleetlane-lake does not run as deployed: its queries have not begun" in failed
    assert stage.world.clock.now_ms - before_ms < HOUR_MS
    assert stage.all_run(stage.code)


def test_a_deploy_that_failed_in_the_middle_can_be_run_again(stage: Stage) -> None:
    failed = stage.deploy(NEW, fails_after="RestartsRestartedJobslow")
    is_back = stage.all_run(stage.code)

    again = stage.deploy(NEW)

    assert ("something else failed" in failed, is_back, again) == (True, True, "")
    assert stage.all_run(NEW)


def test_going_back_ends_even_where_the_version_before_does_not_run_any_more(stage: Stage) -> None:
    stage.world.broken = {BROKEN, stage.code}

    failed = stage.deploy(BROKEN)
    stage.world.broken = set()
    mended = stage.deploy(NEW)

    assert "does not run as deployed" in failed
    assert mended == ""
    assert stage.all_run(NEW)


def test_what_hangs_is_ended_from_outside(stage: Stage) -> None:
    stage.world.hanging = {"fleetlane-slow"}
    hung = next(run for run in stage.world.engine.runs if "slow" in json.dumps(run.given))

    failed = stage.deploy(NEW)

    assert failed == ""
    assert hung.state in {"STOPPED", "CANCELLED"}
    assert stage.all_run(NEW)


def test_an_application_of_emr_is_stopped_before_it_is_changed(on_emr: Stage) -> None:
    failed = on_emr.deploy(on_emr.code, **{"8_vCPU": "12 vCPU"})

    capacities = {
        one.settings["MaximumCapacity"]["Cpu"] for one in on_emr.world.engine.applications.values()
    }
    assert failed == ""
    assert "12 vCPU" in capacities
    assert "8 vCPU" not in capacities
    assert on_emr.all_run(on_emr.code)


def test_what_a_deploy_left_stopped_is_running_again_within_a_quarter_of_an_hour(
    on_emr: Stage,
) -> None:
    failed = on_emr.deploy(
        on_emr.code, fails_after="RestartsRestedApplicationlake", **{"8_vCPU": "12 vCPU"}
    )
    on_emr.world.pass_(15 * 60 + 60)

    assert "something else failed" in failed
    assert on_emr.all_run(on_emr.code)


def test_a_run_of_glue_that_ends_is_followed_by_the_next_within_two_minutes(
    stage_named: Callable[[str], Synthesized],
) -> None:
    stage = deployed(stage_named("dev"), is_glue=True)
    ended = stage.world.engine.runs[0]
    ended.state = "FAILED"

    stage.world.pass_(120)

    assert ended.ended is not None
    assert stage.all_run(stage.code)


def test_destroying_a_stage_ends_its_jobs_and_leaves_none(stage: Stage) -> None:
    stage.stack.destroy()
    stage.world.pass_(15 * 60)

    assert stage.world.running() == {}
    assert stage.world.rules == {}
    assert not [run for run in stage.world.engine.runs if run.state in stage.world.engine.ALIVE]
