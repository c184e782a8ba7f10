"""GitHub's workflows: least rights, pinned actions, and steps that are targets of the Makefile.

`make lint` runs zizmor on them, for their schema and for what an attacker could use.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from infra.stages import STAGE_NAMES
from local.checkout import ROOT

FOLDER: Final = ROOT / ".github" / "workflows"
WORKFLOWS: Final = {path.name: path for path in sorted(FOLDER.glob("*.yml"))}
CLOUD_STAGES: Final = [name for name in STAGE_NAMES if name != "local"]
KEYS: Final = {
    "workflow": {"name", "on", "permissions", "jobs"},
    "job": {
        *("name", "if", "needs", "runs-on", "timeout-minutes", "permissions", "strategy"),
        *("environment", "concurrency", "steps", "uses", "with"),
    },
    "step": {"name", "id", "run", "uses", "with", "env", "shell"},
}
CONTEXTS: Final = {"vars", "inputs", "matrix", "github", "needs", "steps"}
_PINNED: Final = re.compile(r"^\s*- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
_MAKE: Final = re.compile(r'^make ("\$TARGET"|[a-z -]+?)( STAGE="\$STAGE")?(?: 2>&1 \| tee .*)?$')
_TARGET: Final = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
_NAMED: Final = re.compile(r"(?<![\w.'])([a-z]+)\.[A-Za-z_.]+")


def read(name: str) -> Any:
    found = yaml.safe_load(WORKFLOWS[name].read_text())
    return {"on" if key is True else key: value for key, value in found.items()}  # YAML 1.1


def jobs() -> Iterator[tuple[str, str, Any]]:
    for name in WORKFLOWS:
        for job, content in read(name)["jobs"].items():
            yield name, job, content


def steps() -> Iterator[tuple[str, Any]]:
    for name, job, content in jobs():
        for step in content.get("steps", ()):
            yield f"{name}/{job}", step


def expressions(text: str) -> list[str]:
    return re.findall(r"\$\{\{(.*?)\}\}", text)


def targets() -> set[str]:
    return set(_TARGET.findall((ROOT / "Makefile").read_text()))


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=lambda one: one.name)
def test_every_action_of_others_is_pinned_by_digest_with_its_version(path: Path) -> None:
    uses = [line for line in path.read_text().splitlines() if re.match(r"\s*(- )?uses:", line)]

    foreign = [line for line in uses if "uses: ./" not in line]

    assert [line for line in foreign if not _PINNED.match(line)] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_the_repository_and_a_job_that_deploys_prove_itself(name: str) -> None:
    workflow = read(name)

    assert workflow["permissions"] == {"contents": "read"}
    for content in workflow["jobs"].values():
        rights = content.get("permissions", {"contents": "read"})
        proves = "configure-aws-credentials" in str(content) or "stage.yml" in str(content)
        assert rights == {"contents": "read", **({"id-token": "write"} if proves else {})}


def test_every_job_and_step_has_known_keys_and_a_limit_of_time() -> None:
    for name, job, content in jobs():
        assert set(content) <= KEYS["job"], f"{name}/{job}"
        assert "uses" in content or {"runs-on", "timeout-minutes", "steps"} <= set(content)
    for where, step in steps():
        assert set(step) <= KEYS["step"], where
        assert ("run" in step) != ("uses" in step), where
    assert all(set(read(name)) == KEYS["workflow"] for name in WORKFLOWS)


def test_every_job_and_workflow_that_is_named_is_there() -> None:
    for name, job, content in jobs():
        needed = content.get("needs", [])
        known = read(name)["jobs"]
        assert all(one in known for one in ([needed] if isinstance(needed, str) else needed))
        called = content.get("uses")
        if called is not None:
            inputs = read(Path(called).name)["on"]["workflow_call"] or {}
            given, declared = set(content.get("with", {})), inputs.get("inputs", {})
            required = {one for one, how in declared.items() if how.get("required")}
            assert required <= given <= set(declared), f"{name}/{job}"


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=lambda one: one.name)
def test_expressions_name_known_contexts_and_none_is_in_a_command(path: Path) -> None:
    found = expressions(path.read_text())

    assert {one for text in found for one in _NAMED.findall(text)} <= CONTEXTS
    assert all("${{" not in step["run"] for _, step in steps() if "run" in step)


def test_every_command_is_a_target_of_the_makefile() -> None:
    commands = [re.sub(r"\s+#.*", "", step["run"]) for _, step in steps() if "run" in step]

    found = [_MAKE.match(one) for one in commands]

    assert all(found), [one for one, match in zip(commands, found, strict=True) if not match]
    named = {one for match in found if match for one in match[1].split()} - {'"$TARGET"'}
    called = {content["with"]["target"] for _, _, content in jobs() if "stage.yml" in str(content)}
    assert named | called <= targets()


def test_nothing_is_installed_once_there_are_credentials() -> None:
    for name, _, content in jobs():
        lines = [str(step) for step in content.get("steps", ())]
        at = [index for index, line in enumerate(lines) if "configure-aws-credentials" in line]
        if at:
            assert any(" artifacts" in line for line in lines[: at[0]]), name
            assert not any("checkout" in line for line in lines[at[0] :]), name


def test_github_tests_what_our_own_run_tests() -> None:
    ours = re.findall(r"^make .*", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)

    theirs = [step["run"] for where, step in steps() if where == "test.yml/test" and "run" in step]

    assert theirs == ours


def test_stages_are_deployed_one_after_the_other_each_verified_before_the_next() -> None:
    deploy = read("deploy.yml")["jobs"]
    change = [step.get("run") for step in read("stage.yml")["jobs"]["change"]["steps"]]

    assert list(deploy) == ["test", *CLOUD_STAGES]
    before = ["test"]
    for stage in CLOUD_STAGES:
        needed = deploy[stage]["needs"]
        assert ([needed] if isinstance(needed, str) else needed) == before
        assert deploy[stage]["with"] == {"stage": stage, "target": "deploy"}
        before = [*before, stage]
    assert change[-2:] == ['make "$TARGET" STAGE="$STAGE"', 'make verify STAGE="$STAGE"']


def test_drift_is_asked_by_the_role_for_look_ups_which_the_reader_may_assume() -> None:
    steps_of_drift = read("drift.yml")["jobs"]["drift"]["steps"]
    pipeline = (ROOT / "infra" / "stacks" / "pipeline.py").read_text()

    reader, looks_up = [one for one in steps_of_drift if "configure-aws" in str(one.get("uses"))]

    account, region = "${{ steps.reads.outputs.aws-account-id }}", "${{ vars.AWS_REGION }}"
    bootstrapped = f"role/cdk-hnb659fds-lookup-role-{account}-{region}"
    assert reader["id"] == "reads"
    assert looks_up["with"]["role-to-assume"] == f"arn:aws:iam::{account}:{bootstrapped}"
    assert looks_up["with"]["role-chaining"] is True
    assert looks_up["with"]["role-skip-session-tagging"] is True
    assert '-read", ("lookup",))' in pipeline


def test_every_stage_can_be_rolled_back() -> None:
    inputs = read("roll-back.yml")["on"]["workflow_dispatch"]["inputs"]

    assert inputs["stage"]["options"] == CLOUD_STAGES
