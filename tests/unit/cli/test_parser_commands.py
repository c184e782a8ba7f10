"""The parser author's commands, on a folder that ``parser new`` made."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner, Result

from fleetlane.cli.commands.parser.new import StartFrom
from fleetlane.cli.main import app
from fleetlane.cli.options.checkout import uv_program
from fleetlane.events.flows.artifacts import read_manifest
from fleetlane.parsers.testkit.checking import ContractBrokenError, check_folder
from local.checkout import ROOT

TWO = "samples/two-readings.bin"
RECORD = {
    "headers": [
        ["ce_specversion", "1.0"],
        ["ce_id", "1" + "0" * 32],
        ["ce_source", "/devices/d-1"],
        ["ce_type", "tank"],
        ["ce_arrivalmillis", "1762178709123"],
        ["ce_lane", "standard"],
        ["ce_attempt", "2"],
        ["ce_bodybytes", "6"],
        ["ce_parkedreason", "malformed"],
    ],
    "value": "aQi2kgBW",
}


def run(*arguments: str, given: bytes = b"") -> Result:
    return CliRunner().invoke(app, ["parser", *arguments], input=given)


@pytest.fixture
def tank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a new parser, in which one stands."""
    monkeypatch.chdir(tmp_path)
    assert run("new", "tank").exit_code == 0
    monkeypatch.chdir(tmp_path / "tank")
    return tmp_path / "tank"


@pytest.fixture
def next_tank(tank: Path) -> Path:
    """The same as version 0.2.0, which says ``level`` instead of ``value``."""
    target = tank.with_name("next-tank")
    shutil.copytree(tank, target)
    for path, old, new in (
        ("pyproject.toml", '"0.1.0"', '"0.2.0"'),
        ("tank/__init__.py", '"value"', '"level"'),
    ):
        text = (target / path).read_text()
        (target / path).write_text(text.replace(old, new))
    return target


@pytest.mark.parametrize("start_from", get_args(StartFrom))
def test_a_new_parser_passes_its_tests_at_once(tmp_path: Path, start_from: StartFrom) -> None:
    folder = str(tmp_path / "tank")

    made = run("new", "tank", "--format", start_from, "--folder", folder)
    tested = run("test", folder, "--examples", "20")

    assert (made.exit_code, tested.exit_code) == (0, 0)
    assert tested.stdout.endswith(", 2 samples: ok\n")


def test_what_new_prints_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)

    made = run("new", "tank", "--format", "json", "--folder", "water tanks/tank")

    printed = [line.strip() for line in made.stdout.splitlines() if line.startswith("  ")]
    ran = [subprocess.run(one, shell=True, check=False) for one in printed]  # noqa: S602
    assert [one.returncode for one in ran] == [0, 0]


def test_new_prints_the_checkouts_own_command_where_none_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    made = run("new", "tank")

    command = shlex.split(made.stdout.splitlines()[1])[0]
    assert Path(command).resolve() == ROOT / "fleetlane"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Tank", "parser 'Tank' does not match"),
        ("json", "parser 'json' is a built-in format"),
        ("taken", "taken exists and is not empty"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()

    made = run("new", name)

    assert (made.exit_code, why in made.stderr) == (1, True)


@pytest.mark.parametrize("name", ["struct", "a-b-"])
def test_a_name_that_is_no_module_of_ones_own_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run("new", name)

    tried = run("try", f"{name}/{TWO}", "--flow", f"{name}/flows/{name}.toml")

    assert (tried.exit_code, tried.stderr) == (0, "")


def test_try_shows_events_time_and_size(tank: Path) -> None:
    tried = run("try", TWO)

    assert "2025-11-03T14:05:06.000Z  1762178706   21.5" in tried.stdout
    assert "tank@0.1.0: 2 events, 85 bytes of JSON, in " in tried.stdout
    assert "ms; the standard lane allows 250 ms" in tried.stdout


def test_try_reads_hex_from_standard_input(tank: Path) -> None:
    tried = run("try", "-", "--hex", "--json", given=b"69:08 b6 92\n0056")

    assert json.loads(tried.stdout)["events"][0]["data"] == {
        "measured_at": 1762178706,
        "value": 21.5,
    }


def test_try_reads_a_parked_record(tank: Path) -> None:
    tried = run("try", "-", "--record", "--json", given=json.dumps(RECORD).encode())

    (event,) = json.loads(tried.stdout)["events"]
    assert (event["key"], event["topic"]) == ("d-1/2025-11-03T14", "canonical.tank")


def test_a_malformed_message_shows_its_sentence(tank: Path) -> None:
    tried = run("try", "samples/bad.bin")

    assert (tried.exit_code, tried.stdout) == (1, "")
    assert tried.stderr == "error: malformed: 7 bytes; readings are 6 bytes each\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--parser", "tank==0.2.0"], "no parser 'tank==0.2.0'; installed: tank==0.1.0"),
        (["--parser", "nobodys==1"], "no parser 'nobodys==1'"),
        (["--parser", "json", "--flow", "flows/tank.toml"], "--parser and --flow each say"),
        (["--hex"], "samples/two-readings.bin is not hexadecimal"),
        (["--record"], "samples/two-readings.bin, line 1, is no record"),
    ],
)
def test_what_cannot_be_tried_is_reported_in_one_line(
    tank: Path, arguments: list[str], why: str
) -> None:
    tried = run("try", TWO, *arguments)

    assert (tried.exit_code, tried.stdout, why in tried.stderr) == (1, "", True)


def test_what_a_device_sends_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    message = '{"\\u009b2J": "\\u001b[2J\u009b2J"}'.encode()

    tried = run("try", "-", "--parser", "json", given=message)

    assert all(line.isprintable() for line in tried.stdout.splitlines())


def test_a_parser_that_breaks_its_contract_is_found_wanting(tank: Path) -> None:
    path = tank / "tank" / "__init__.py"
    path.write_text(path.read_text().replace("% 6:", "% 6 == 5:"))

    tested = run("test", "--examples", "20")

    kept, *_ = (tank / "failures").glob("mutated-samples-*.hex")
    again = run("try", str(kept.relative_to(tank)), "--hex")
    assert (tested.exit_code, again.exit_code) == (1, 1)
    assert "end as parser_failed: error: iterative unpacking requires" in tested.stdout


def test_pytest_receives_what_is_wrong(tank: Path) -> None:
    (tank / "samples" / "bad.json").write_text("[]")

    with pytest.raises(ContractBrokenError, match=r"samples: bad\.bin: is malformed: 7 bytes"):
        check_folder(tank, examples=1, uv=uv_program())


def test_update_writes_what_is_expected(tank: Path) -> None:
    (tank / "samples" / "bad.json").unlink()

    run("test", "--update", "--examples", "1")

    expected = json.loads((tank / "samples" / "bad.json").read_text())
    assert expected["detail"] == "7 bytes; readings are 6 bytes each"


def test_bench_shows_microseconds_against_the_lanes_limit(tank: Path) -> None:
    timed = run("bench", TWO, "samples/bad.bin", "--json")

    timings = json.loads(timed.stdout)
    assert timings[TWO]["median_us"] <= timings[TWO]["p99_us"]
    assert {one["limit_ms"] for one in timings.values()} == {250}


def test_build_makes_the_same_artifact_each_time(tank: Path) -> None:
    first, again = run("build", "--output", "one"), run("build", "--output", "other")

    artifacts = [tank / name / "tank-0.1.0.zip" for name in ("one", "other")]
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert artifacts[0].read_bytes() == artifacts[1].read_bytes()
    assert read_manifest(artifacts[0], artifact="").uses == ("tank==0.1.0",)


def test_diff_names_the_fields_that_change(tank: Path, next_tank: Path) -> None:
    run("build")

    found = run("diff", "dist/tank-0.1.0.zip", str(next_tank), "--from", TWO, "samples/bad.bin")

    changed, same, summary = found.stdout.splitlines()
    assert changed == (
        f"{TWO}: changed: event 0: value 21.5 -> (nothing); event 0: level (nothing) -> 21.5; "
        "event 1: value -0.25 -> (nothing); event 1: level (nothing) -> -0.25"
    )
    assert same.startswith("samples/bad.bin: same, both refuse: malformed: ")
    assert summary == "2 messages: 1 same, 1 changed; both refuse 1"


@pytest.mark.parametrize(
    ("compared", "options", "status"),
    [(TWO, ["--exit-code"], 1), (TWO, [], 0), ("samples/bad.bin", ["--exit-code"], 0)],
)
def test_diff_exits_with_1_for_a_difference_where_that_is_asked(
    tank: Path, next_tank: Path, compared: str, options: list[str], status: int
) -> None:
    found = run("diff", ".", str(next_tank), "--from", compared, "--json", *options)

    assert found.exit_code == status
    assert json.loads(found.stdout)["both_refuse"] == (compared == "samples/bad.bin")


def test_diff_takes_records_of_the_flows_stream_alone(tank: Path, next_tank: Path) -> None:
    other = {**RECORD, "headers": [h for h in RECORD["headers"] if h[0] != "ce_type"]}
    other["headers"] = [*other["headers"], ["ce_type", "gps"]]
    lines = "".join(json.dumps(one) + "\n" for one in (RECORD, other))
    (tank / "some.records.jsonl").write_text(lines)

    arguments = ("--from", "some.records.jsonl", "--flow", "flows/tank.toml", "--json")
    found = run("diff", ".", str(next_tank), *arguments)

    assert list(json.loads(found.stdout)["messages"]) == ["some.records.jsonl, line 1"]


def test_diff_takes_messages_that_the_flow_gives_this_parser_alone(
    tank: Path, next_tank: Path
) -> None:
    rules = 'use = "tank==0.1.0"\ndevice_types = ["other"]\n[[parsers]]\nuse = "json"\n'
    flow = f'stream = "tank"\nowner = "acme"\n[[parsers]]\n{rules}'
    (tank / "flows" / "tank.toml").write_text(flow)
    (tank / "some.record.json").write_text(json.dumps(RECORD))

    arguments = ("--from", "some.record.json", "--flow", "flows/tank.toml", "--json")
    found = run("diff", ".", str(next_tank), *arguments)

    assert json.loads(found.stdout)["messages"] == {}


@pytest.mark.parametrize("content", ["", "\n", "{record}\n{record}\n"])
def test_bench_takes_one_record_a_file(tank: Path, content: str) -> None:
    (tank / "some.records.jsonl").write_text(content.replace("{record}", json.dumps(RECORD)))

    found = run("bench", "some.records.jsonl")

    assert (found.exit_code, "this takes one" in found.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--from", "raw"], "say whose messages of raw: --flow FILE, or --stream STREAM"),
        (["--from", "raw", "--stream", "tank"], "no platform runs on"),
        (["--from", "there-is-no.bin"], "there-is-no.bin cannot be read"),
    ],
)
def test_messages_that_are_unavailable_are_reported_in_one_line(
    tmp_path: Path, arguments: list[str], why: str
) -> None:
    found = run("diff", "json", "json", *arguments, "--data", str(tmp_path))

    assert (found.exit_code, found.stdout, why in found.stderr) == (1, "", True)
