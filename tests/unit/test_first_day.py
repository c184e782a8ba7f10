"""docs/first-day.md: every command can be typed, and every name in it is one of the code's.

Commands of ./fleetlane, links and files are checked with those of all documents.
"""

import re
import subprocess
from collections.abc import Mapping
from typing import Final

import botocore.session
import pytest
from botocore import xform_name

from fleetlane.events.canary import VERIFIER_ID
from fleetlane.events.flows.files import flows_in
from fleetlane.events.stage_resources import canary_key_name, operator_host_name, parameter_name
from infra import stages
from infra.stages import settings_of
from local.checkout import FLOWS, ROOT
from tests.infra.stage_table import AS_PUBLISHED, published_settings_of

PAGE: Final = (ROOT / "docs" / "first-day.md").read_text()
OF_THE_CLI: Final = {"query", "output", "region"}
_AWS: Final = re.compile(
    r"(?<![\w./`-])`?aws ([a-z]+(?:-[a-z]+)*) ([a-z]+(?:-[a-z]+)*)((?: [^`\n|;)]+)?)"
)
_OPTION: Final = re.compile(r"--([a-z][a-z-]*)")
_MAKE: Final = re.compile(r"\bmake ((?:[a-z]+-?)+)")


def blocks() -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


def commands_of_aws() -> Mapping[tuple[str, str], set[str]]:
    """Which options each operation of a service is given."""
    inline = "\n".join(re.findall(r"`(aws [^`]+)`", PAGE))
    found: dict[tuple[str, str], set[str]] = {}
    for service, operation, rest in _AWS.findall(f"{blocks()}\n{inline}"):
        found.setdefault((service, operation), set()).update(_OPTION.findall(rest))
    return found


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    return re.findall(r"^\| `([\w.-]+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize(("service", "operation"), commands_of_aws())
def test_every_command_of_aws_is_one_with_its_options(service: str, operation: str) -> None:
    model = botocore.session.get_session().get_service_model(service)
    options = commands_of_aws()[service, operation]

    [found] = [one for one in model.operation_names if xform_name(one, "-") == operation]

    shape = model.operation_model(found).input_shape
    members = shape.members if shape is not None else {}
    assert options <= {xform_name(one, "-") for one in members} | OF_THE_CLI


def test_every_target_of_make_is_there() -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert set(_MAKE.findall(blocks() + "\n".join(re.findall(r"`(make .*?)`", PAGE)))) <= set(
        targets
    )


def test_the_steps_of_verify_are_those_of_the_code() -> None:
    source = (ROOT / "operations" / "verification.py").read_text()

    steps = re.findall(r'\(f?"([a-z]+): ', source)

    assert first_cells(section("6. Verify")) == steps
    assert f"`{VERIFIER_ID}`" in PAGE


def test_the_workflows_of_the_pipeline_are_those_that_somebody_starts() -> None:
    called = {"stage.yml"}

    there = {path.name for path in (ROOT / ".github" / "workflows").glob("*.yml")} - called

    assert set(first_cells(section("9. The pipeline"))) == there


def test_names_in_commands_are_those_that_a_deploy_makes() -> None:
    watching = (ROOT / "infra" / "stacks" / "watching.py").read_text()
    engine = (ROOT / "infra" / "constructs" / "jobs" / "glue_engine.py").read_text()

    for name_of in (parameter_name, operator_host_name, canary_key_name):
        assert name_of("$STAGE") in PAGE
    assert "fleetlane-$STAGE-canary-is-missing" in PAGE
    assert 'alarm_name=f"fleetlane-{self.stage.name}-{rule.name}"' in watching
    assert "stack_name" in engine
    assert f"at least {len(flows_in(FLOWS))} flows" in PAGE


def test_every_setting_that_the_page_names_is_one() -> None:
    named = {"engine", *AS_PUBLISHED}

    assert named <= set(settings_of("dev"))
    assert all(f"`{one}`" in PAGE for one in named)


def test_what_the_page_has_somebody_set_is_in_none_of_the_templates_that_tests_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only_mentioned = {"engine", "nat_gateways", "region", "sandbox", "standard_workers"}
    before = published_settings_of("dev")
    filled_in = dict.fromkeys(AS_PUBLISHED, ("filled in",) * len(stages.STAGE_NAMES))
    monkeypatch.setattr(stages, "_SIDE_BY_SIDE", {**stages._SIDE_BY_SIDE, **filled_in})

    settings = published_settings_of("dev")

    assert settings == before
    named = set(re.findall(r"`(\w+)`", PAGE)) & settings.keys()
    assert named - only_mentioned == AS_PUBLISHED.keys()


def test_prod_is_not_destroyed_by_make() -> None:
    done = subprocess.run(
        ["/usr/bin/env", "make", "--dry-run", "destroy", "STAGE=prod"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "prod is not destroyed by make" in done.stderr
    assert "destroy --all" not in done.stdout
