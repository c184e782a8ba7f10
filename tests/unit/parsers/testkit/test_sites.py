"""Where parsers are found: installed, in a project, in an artifact."""

from pathlib import Path

import pytest

from fleetlane.cli.options.checkout import uv_program
from fleetlane.events.flows.artifacts import ANY_PLATFORM, BadArtifactError
from fleetlane.parsers.artifacts.writing import Package, write_artifact
from fleetlane.parsers.registry import UnknownParserError
from fleetlane.parsers.testkit.sites import Sites, project_at
from local.checkout import ROOT
from tests.unit.parsers.projects import write_project

ACME = ROOT / "examples" / "acme-sensors"


def artifact(folder: Path, *names: str) -> Path:
    lines = "".join(f"{name} = tank:Tank\n" for name in names)
    package = Package(
        name="tank", version="1.0", parsers=dict.fromkeys(names, "tank:Tank"), platform=ANY_PLATFORM
    )
    contents = {
        "tank-1.0.dist-info/METADATA": b"Name: tank\nVersion: 1.0\n",
        "tank-1.0.dist-info/entry_points.txt": f"[fleetlane.parsers]\n{lines}".encode(),
    }
    return write_artifact(folder, package, contents)


def test_a_built_in_format_needs_no_folder() -> None:
    with Sites() as sites:
        found = sites.parser("json")

    assert found.location is None


def test_a_project_that_is_installed_as_it_is_is_not_built() -> None:
    with Sites() as sites:
        found = sites.parser("acme-thermo==1.2.0", project_at(ACME))

    assert (found.identifier, found.location) == ("acme-thermo@1.2.0", None)


def test_a_project_that_is_not_installed_is_built(tmp_path: Path) -> None:
    project = project_at(write_project(tmp_path / "tank"))

    with Sites(uv=uv_program()) as sites:
        found = sites.parser("tank==1.0", project)
        assert found.location is not None
        assert Path(found.location, "tank", "__init__.py").is_file()

    assert not Path(found.location).exists()


def test_another_version_than_the_projects_is_unknown(tmp_path: Path) -> None:
    project = project_at(write_project(tmp_path / "tank"))

    with Sites(uv=uv_program()) as sites, pytest.raises(UnknownParserError) as refusal:
        sites.parser("tank==2.0", project)

    assert str(refusal.value) == "no parser 'tank==2.0'; installed: tank==1.0"


def test_an_artifacts_only_parser_needs_no_name(tmp_path: Path) -> None:
    path = artifact(tmp_path, "tank-level")

    with Sites() as sites:
        found = sites.of_artifact(path)

    assert found.identifier == "tank-level@1.0"


def test_of_several_one_must_be_named(tmp_path: Path) -> None:
    path = artifact(tmp_path, "tank-level", "tank-leak")

    with Sites() as sites, pytest.raises(BadArtifactError, match="say which with --parser"):
        sites.of_artifact(path)
