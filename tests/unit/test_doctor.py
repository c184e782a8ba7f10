"""``fleetlane doctor``: what it finds on machines that lack something."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from local.checkout import ROOT
from local.setup import doctor
from local.setup.doctor import GIB, LATER, MISSING, OK, Finding, report
from local.setup.steps import Checkout, Step


def checkout_in(root: Path, **environment: str) -> Checkout:
    (root / ".python-version").write_text("3.13\n")
    return Checkout(root=root, environment=environment)


def program(folder: Path, name: str, says: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / name).chmod(0o755)


def test_a_machine_that_runs_these_tests_lacks_nothing() -> None:
    checkout = Checkout(root=ROOT, environment=dict(os.environ))  # noqa: TID251 - the machine's

    states = {one.name: one.state for one in doctor.examine(checkout, clock_s=time.time)}

    needed = ("system", "make", "git", "uv", "python", "memory", "loopback", ".venv")
    assert {name: states[name] for name in needed} == dict.fromkeys(needed, OK)


def test_each_program_that_is_not_on_the_path_is_missing(tmp_path: Path) -> None:
    program(tmp_path / "bin", "make", "make")
    checkout = checkout_in(tmp_path, PATH=str(tmp_path / "bin"))

    states = {one.name: one.state for one in doctor.programs(checkout)}

    assert states == {"make": OK, "git": MISSING}


def test_java_that_is_too_old_is_missing_and_the_remedy_is_reported(tmp_path: Path) -> None:
    program(tmp_path / "bin", "java", 'openjdk version "11.0.2" 2019-01-15')
    checkout = checkout_in(tmp_path, PATH=f"{tmp_path / 'bin'}:{os.defpath}")

    found = doctor.java_found(checkout)

    assert (found.state, "is Java 11, older than 17" in found.said) == (MISSING, True)
    assert found.remedy.startswith("install Java 17")


def test_what_the_set_up_fetches_by_itself_is_not_missing(tmp_path: Path) -> None:
    checkout = checkout_in(tmp_path, PATH="")

    found = [doctor.python_found(checkout), *map(doctor.fetched, _steps(checkout))]

    assert {one.state for one in found} == {LATER}


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (doctor.system("win32"), MISSING),
        (doctor.system("darwin"), OK),
        (doctor.memory(4 * GIB), OK),
        (doctor.memory(4 * GIB - 1), MISSING),
        (doctor.open_files(), OK),
    ],
)
def test_a_machine_is_held_against_what_is_needed(found: Finding, state: str) -> None:
    assert found.state == state


@pytest.mark.parametrize(("free_bytes", "state"), [(4 * GIB, OK), (4 * GIB - 1, MISSING)])
def test_before_the_set_up_there_must_be_room_for_it(
    tmp_path: Path, free_bytes: int, state: str
) -> None:
    found = doctor.disk(checkout_in(tmp_path), free_bytes=free_bytes)

    assert found.state == state


@pytest.mark.parametrize(
    ("off_s", "state"), [(-3_600, MISSING), (3_600, MISSING), (-(10**9), MISSING)]
)
def test_a_clock_that_is_off_is_reported(tmp_path: Path, off_s: int, state: str) -> None:
    found = doctor.clock(checkout_in(tmp_path), now_s=time.time() + off_s)

    assert found.state == state


def test_looking_at_the_clock_leaves_no_file_behind(tmp_path: Path) -> None:
    doctor.clock(checkout_in(tmp_path), now_s=time.time())

    assert [path.name for path in tmp_path.iterdir()] == [".python-version"]


def test_the_exit_code_is_1_if_a_person_has_to_do_something() -> None:
    said: list[str] = []
    findings = [Finding("java", MISSING, "Java is missing", "install it"), Finding("x", LATER, "-")]

    exit_code = report(findings, said.append, as_json=False)

    assert (exit_code, said[0], said[-1]) == (
        1,
        "MISSING java        Java is missing; install it",
        "missing: java",
    )


def test_what_comes_by_itself_is_no_failure() -> None:
    assert report([Finding("jars", LATER, "not there")], lambda _: None, as_json=False) == 0


def test_a_script_reads_json() -> None:
    said: list[str] = []

    report([Finding("java", MISSING, "none", "install it")], said.append, as_json=True)

    assert json.loads(said[0]) == [
        {"name": "java", "state": "missing", "said": "none", "remedy": "install it"}
    ]


def test_the_doctor_comes_before_anything_is_set_up(tmp_path: Path) -> None:
    """Without a Java, a set-up would end before the command that says so."""
    environment = {"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path)}  # noqa: TID251

    done = subprocess.run(
        [ROOT / "fleetlane", "doctor", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    states = {one["name"]: one["state"] for one in json.loads(done.stdout)}
    assert (done.returncode, states["java"]) == (1, "missing")


@pytest.mark.parametrize(
    ("arguments", "answers"),
    [
        (["doctor"], "set-up: doctor\n"),
        (["doctor", "--json"], "set-up: doctor --json\n"),
        (["doctor", "--stage", "dev"], "command: doctor --stage dev\n"),
        (["doctor", "--stage=dev", "--json"], "command: doctor --stage=dev --json\n"),
        (["doctor", "--help"], "command: doctor --help\n"),
    ],
)
def test_whoever_asks_of_an_account_is_answered_by_the_command(
    tmp_path: Path, arguments: list[str], answers: str
) -> None:
    shutil.copy(ROOT / "fleetlane", tmp_path)
    for path, name in (("local/setup/run", "set-up"), (".venv/bin/fleetlane", "command")):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(f'#!/bin/sh\necho "{name}: $*"\n')
        (tmp_path / path).chmod(0o755)

    done = subprocess.run(
        [tmp_path / "fleetlane", *arguments], capture_output=True, text=True, check=True
    )

    assert done.stdout == answers


def _steps(checkout: Checkout) -> list[Step]:
    return doctor._downloads(checkout)
