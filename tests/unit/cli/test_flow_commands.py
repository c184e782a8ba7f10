"""``fleetlane flow new`` and ``check``, and what ``publish`` refuses before it asks anybody."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fleetlane.cli.main import app
from local.checkout import FLOWS
from tests.team_artifacts import team_artifact

OPTIONED = """
from dataclasses import dataclass

@dataclass(frozen=True, kw_only=True)
class Parser:
    height_mm: int = 1

    def parse(self, message):
        yield {}
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["flow", *map(str, arguments)])


def written(folder: Path, stream: str, text: str, owner: str = "acme") -> Path:
    path = folder / f"{stream}.toml"
    path.write_text(f'stream = "{stream}"\nowner = "{owner}"\n{text}')
    return path


def test_a_new_flow_is_all_right_as_it_is(tmp_path: Path) -> None:
    made = run("new", "pollen", "--folder", tmp_path, "--owner", "acme", "--parser", "csv")

    checked = run("check", tmp_path)

    assert (made.exit_code, checked.exit_code) == (0, 0)
    assert checked.stdout == f"{tmp_path}: 1 flow, no problems\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["Pollen"], "stream 'Pollen' does not match"),
        (["pollen", "--owner", "Our Team"], "owner 'Our Team' does not match"),
        (["pollen", "--parser", "csv>=1"], "field `parsers.0.use` is 'csv>=1'"),
    ],
)
def test_a_new_flow_that_could_not_be_read_is_not_made(
    tmp_path: Path, arguments: list[str], problem: str
) -> None:
    result = run("new", *arguments, "--folder", tmp_path)

    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert problem in result.stderr


def test_a_flow_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    there = written(tmp_path, "gps", '[[parsers]]\nuse = "json"\n')
    before = there.read_text()

    result = run("new", "gps", "--folder", tmp_path)

    assert result.stderr == f"error: {there} already exists\n"
    assert there.read_text() == before


def test_the_repositorys_own_flows_are_all_right() -> None:
    result = run("check", FLOWS)

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[[parsers]]\nuse = "json"\nfirmware = ">=2"\n'
            '[[parsers]]\nuse = "csv"\nfirmware = "<=2"\n',
            "[[parsers]] 1 (json) and 2 (csv) are both for a device with firmware 2,",
        ),
        ('[[parsers]]\nuse = "json"\noptions = { depth = 1 }\n', "no option 'depth'; allowed:"),
        ('[[parsers]]\nuse = "nobodys==1.0"\n', "no parser 'nobodys==1.0'; installed:"),
        (
            '[[parsers]]\nuse = "json"\n'
            '[canonical]\nredirects = [{ when = "a", equals = 1, to = "other" }]\n',
            "but canonical.other is the topic of other.toml",
        ),
    ],
    ids=["overlap", "option", "unknown-parser", "topic"],
)
def test_each_problem_is_reported_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, "gps", text)
    written(tmp_path, "other", '[[parsers]]\nuse = "json"\n')

    result = run("check", tmp_path)

    assert result.exit_code == 1
    assert any(
        line.startswith(f"{path}: ") and problem in line for line in result.stderr.splitlines()
    )
    assert result.stderr.endswith(f"error: the flows in {tmp_path} have 1 problem\n")


def test_a_firmware_that_falls_through_is_named_and_is_no_problem(tmp_path: Path) -> None:
    path = written(tmp_path, "gps", '[[parsers]]\nuse = "json"\nfirmware = ">=2"\n')

    result = run("check", tmp_path)

    assert result.exit_code == 0
    assert f"note: {path}: a device with firmware 1 fits no [[parsers]]" in result.stdout


def test_parsers_come_from_artifacts_that_are_given(tmp_path: Path) -> None:
    artifact = team_artifact(tmp_path / "dist", "tank==1.0", OPTIONED)
    text = '[[parsers]]\nuse = "tank==1.0"\noptions = { height_mm = %s }\n'
    written(tmp_path, "right", text % "3000")
    right = run("check", tmp_path, "--artifact", artifact)
    written(tmp_path, "wrong", text % '"high"')

    wrong = run("check", tmp_path, "--artifact", artifact)

    assert (right.exit_code, wrong.exit_code) == (0, 1)
    assert "wrong.toml: parser tank==1.0 cannot be loaded: ParserOptionError" in wrong.stderr


def test_a_folder_without_flows_says_how_to_make_one(tmp_path: Path) -> None:
    result = run("check", tmp_path)

    assert result.stderr == (
        f"error: {tmp_path}: holds no flow file; `fleetlane flow new STREAM` makes one\n"
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--rollback", "--version", "0" * 16], "Give exactly one: FOLDER, --rollback"),
        ([".", "--rollback"], "Give exactly one: FOLDER, --rollback"),
        (["--rollback", "--dry-run"], "--dry-run and --only go with FOLDER alone"),
        (["--version", "0" * 16, "--only"], "--dry-run and --only go with FOLDER alone"),
        (["--stage", "dev", "--data", "."], "give --stage or --data, not both"),
    ],
)
def test_what_is_said_twice_or_by_half_is_refused(arguments: list[str], problem: str) -> None:
    result = run("publish", *arguments)

    assert result.exit_code == 1
    assert problem in result.stderr


def test_a_schema_is_held_against_the_flow_files_as_they_were(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, kind in ((before, "number"), (after, "string")):
        folder.mkdir()
        schema = {"type": "object", "properties": {"celsius": {"type": kind}}}
        (folder / "s.json").write_text(json.dumps(schema))
        written(folder, "thermo", 'schema = "s.json"\n[[parsers]]\nuse = "json"\n')

    result = run("check", after, "--against", before)

    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == (
        f"{after / 'thermo.toml'}: schema: property `celsius` was number and is string; "
        "keep number; a stream of another name may differ"
    )
