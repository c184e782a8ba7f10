"""The set-up's decisions: what is current, what is missing, what is worth a line."""

import sys
import tomllib
from pathlib import Path

import pytest

from local.setup import java, packages
from local.setup.steps import Checkout, Step, key_of, make_ready
from local.setup.tools import CannotSetUpError, cause_of, run_tool

ROOT = Path(__file__).parents[2]


def checkout_in(root: Path, **environment: str) -> Checkout:
    return Checkout(root=root, environment=environment)


def run_python(script: str, log: Path) -> None:
    run_tool(
        "probe",
        [sys.executable, "-c", script],
        environment={},
        log=log,
        condense=lambda line: line.upper() if "keep" in line else None,
    )


class RecordedStep:
    """Counts how often it was made; fails when told to."""

    def __init__(self, folder: Path, *, key: str = "a", fails: bool = False) -> None:
        self.made = 0
        self.fails = fails
        self.step = Step(title="", folder=folder, key=key, make=self.make)

    def make(self) -> None:
        self.made += 1
        if self.fails:
            raise CannotSetUpError("it is missing", "bring it")


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "25.0.1" 2025-10-21', 25),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_javas_major_version_is_read_from_what_it_prints(text: str, major: int | None) -> None:
    assert java.major_version(text) == major


def test_without_java_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    checkout = checkout_in(tmp_path, PATH=str(tmp_path))

    with pytest.raises(CannotSetUpError) as caught:
        java.check(checkout)

    assert str(caught.value).startswith("Java is missing; install Java 17 or newer")


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    checkout = checkout_in(tmp_path, JAVA_HOME=str(tmp_path))

    with pytest.raises(CannotSetUpError) as caught:
        java.check(checkout)

    assert f"JAVA_HOME={tmp_path}" in str(caught.value)


def test_an_old_java_is_reported_with_its_version(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)

    with pytest.raises(CannotSetUpError) as caught:
        java.check(checkout_in(tmp_path, JAVA_HOME=str(tmp_path)))

    assert "is Java 11, older than 17" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "satisfies"),
    [
        ("uv 0.13.8 (x86_64-unknown-linux-gnu)\n", True),
        ("uv 0.13.12\n", True),
        ("uv 0.13.7\n", False),
        ("uv 0.14.0\n", False),
        ("", False),
    ],
)
def test_only_a_uv_within_the_pin_is_reused(text: str, *, satisfies: bool) -> None:
    assert packages.satisfies_pin(text) is satisfies


def test_the_pinned_uv_is_one_that_the_project_accepts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    pinned = ".".join(map(str, packages.UV_VERSION))

    assert project["tool"]["uv"]["required-version"].startswith(f">={pinned},")


def test_a_folder_is_current_until_its_key_changes(tmp_path: Path) -> None:
    RecordedStep(tmp_path, key="a").step.take()

    current = [RecordedStep(tmp_path, key=key).step.is_current() for key in ("a", "b")]

    assert current == [True, False]


def test_what_was_being_changed_when_it_failed_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    before = RecordedStep(tmp_path, key="a").step
    before.take()
    with pytest.raises(CannotSetUpError):
        RecordedStep(tmp_path, key="b", fails=True).step.take()

    assert not before.is_current()


def test_a_folder_that_was_never_finished_is_not_current(tmp_path: Path) -> None:
    step = RecordedStep(tmp_path / "half").step

    step.folder.mkdir()

    assert not step.is_current()


def test_a_moved_folder_is_emptied_before_it_is_made_again(tmp_path: Path) -> None:
    RecordedStep(tmp_path / "before").step.take()
    (tmp_path / "before" / "of_another_path").touch()
    (tmp_path / "before").rename(tmp_path / "after")

    RecordedStep(tmp_path / "after").step.take()

    assert not (tmp_path / "after" / "of_another_path").exists()


def test_a_key_changes_with_the_bytes_of_a_file(tmp_path: Path) -> None:
    lock = tmp_path / "uv.lock"
    lock.write_text("one")
    before = key_of([lock])

    lock.write_text("two")

    assert key_of([lock]) != before


def test_a_members_entry_points_count_for_the_environment(tmp_path: Path) -> None:
    member = tmp_path / "parsers" / "pyproject.toml"
    member.parent.mkdir()
    before = packages.environment_key(checkout_in(tmp_path))

    member.write_text("[project.entry-points]")

    assert packages.environment_key(checkout_in(tmp_path)) != before


def test_a_second_set_up_takes_no_step(tmp_path: Path) -> None:
    step = RecordedStep(tmp_path / "made")
    lock = tmp_path / "locks" / "lock"

    make_ready([step.step], lock=lock)
    make_ready([step.step], lock=lock)

    assert step.made == 1


def test_after_a_failure_only_what_is_left_is_done_again(tmp_path: Path) -> None:
    first, second = RecordedStep(tmp_path / "one"), RecordedStep(tmp_path / "two", fails=True)
    steps, lock = [first.step, second.step], tmp_path / "lock"
    with pytest.raises(CannotSetUpError):
        make_ready(steps, lock=lock)
    second.fails = False

    make_ready(steps, lock=lock)

    assert (first.made, second.made) == (1, 2)


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("error: dns error: failed to lookup address", "a package registry could not be reached"),
        ("ERROR: No matching distribution (from versions: none)", "a package registry could not"),
        ("/usr/bin/python3: No module named pip", "pip is missing for this python3"),
        ("error: No interpreter found for Python 3.13 in managed", "Python 3.13 is missing"),
        ("The lockfile at `uv.lock` needs to be updated", "uv.lock does not match"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
    ],
)
def test_a_known_cause_is_put_in_words(output: str, missing: str) -> None:
    cause = cause_of(f"first line\n{output}\n")

    assert cause is not None
    assert cause.missing.startswith(missing)


def test_a_tools_output_is_condensed_on_the_screen_and_whole_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"

    run_python("print('keep this'); print('drop this')", log)

    assert capsys.readouterr().err == "  KEEP THIS\n"
    assert log.read_text() == "keep this\ndrop this\n"


def test_a_tool_that_fails_for_an_unknown_cause_shows_its_last_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CannotSetUpError) as caught:
        run_python("print('odd'); raise SystemExit(3)", tmp_path / "log")

    assert "exit code 3" in str(caught.value)
    assert "odd" in capsys.readouterr().err


def test_pyenvs_warnings_are_not_shown_and_downloads_are() -> None:
    lines = [
        "pyenv: python3.12: command not found",
        "Downloading pyarrow (52.5MiB)",
        " + six==1.17",
    ]

    shown = [packages.shown_of_uv(line) for line in lines]

    assert shown == [None, "Downloading pyarrow (52.5MiB)", None]


def test_fetched_jars_are_counted() -> None:
    condense = java.counted()
    fetched = "\t[SUCCESSFUL ] org.apache.kafka#kafka_2.13;4.1.2!kafka_2.13.jar (345ms)"

    shown = [condense("downloading something"), condense(fetched), condense(fetched)]

    assert shown == [None, "  1 kafka_2.13 4.1.2", "  2 kafka_2.13 4.1.2"]
