"""``fleetlane parser dev``: runs at each change, acts on keys, goes on whatever is wrong."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from fleetlane.cli.commands.flow.preview import comparison_lines
from fleetlane.cli.commands.parser.dev import author_loop, files_of, publish_folder
from fleetlane.cli.main import app
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.envelope import headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.topics import raw_key
from fleetlane.parsers.testkit.sites import project_at
from operations.flows.publisher import FlowPublisher
from operations.messages.newest import NewestMessages, newest_messages
from tests.flow_publisher import flow_publisher
from tests.unit.cli.own_terminal import started_in_terminal
from tests.unit.operations.memory_positions import MemoryPositions
from tests.unit.operations.stored_messages import ARRIVAL_MS, message_of

PATIENCE_S: Final = 120.0
NO_SYNTAX: Final = "def parse(:\n"


@pytest.fixture
def tank(tmp_path: Path) -> Path:
    return made(tmp_path / "tank", "python")


@pytest.fixture
def flow_alone(tmp_path: Path) -> Path:
    """A folder without Python: nothing of it is built."""
    return made(tmp_path / "tank", "json")


def made(folder: Path, kind: str) -> Path:
    new = ["parser", "new", "tank", "--format", kind, "--folder", str(folder)]
    assert CliRunner().invoke(app, new).exit_code == 0
    return folder


class Author:
    """Presses keys, or edits files between them; the loop ends after the last."""

    def __init__(self, folder: Path, acts: Sequence[str | Callable[[], object]]) -> None:
        self._folder, self._acts = folder, [*acts, "q"]
        self.done: list[str] = []
        self.is_well = True

    def loop(self) -> list[str]:
        """What the loop did, in order."""
        author_loop(self._folder, run=self._run, publish=self._publish, key=self._key)
        return self.done

    def _run(self) -> bool:
        self.done.append("run")
        return self.is_well

    def _publish(self) -> None:
        self.done.append("publish")

    def _key(self, wait_s: float) -> str:
        act = self._acts.pop(0)
        if isinstance(act, str):
            return act
        act()
        return ""


def edited(path: Path, text: str = "x") -> Callable[[], object]:
    return lambda: path.write_text(text)


def test_a_folder_is_checked_at_once_and_at_each_change(
    flow_alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = flow_alone / "samples" / "new.bin", flow_alone / "flows" / "tank.toml"

    done = Author(flow_alone, ["", edited(new), "", edited(old), new.unlink, ""]).loop()

    said = [line.partition("  ")[2] for line in capsys.readouterr().out.splitlines()]
    assert done == ["run"] * 4
    changes = [f"{name} changed" for name in ("new.bin", "tank.toml", "new.bin")]
    assert said == ["checking 6 files", *changes]


def test_a_key_runs_again_publishes_or_ends(flow_alone: Path) -> None:
    done = Author(flow_alone, ["r", "p", "x", "q", "never"]).loop()

    assert done == ["run", "run", "publish"]


def test_what_fails_its_checks_is_not_published(
    flow_alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    author = Author(flow_alone, ["p"])
    author.is_well = False

    assert author.loop() == ["run"]
    assert "a check failed: nothing is published" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["failures/a.hex", "dist/a.zip", ".git/a", "tank/__pycache__/a"])
def test_what_commands_write_is_no_change(flow_alone: Path, place: str) -> None:
    before = files_of(flow_alone)
    (flow_alone / place).parent.mkdir(parents=True)
    (flow_alone / place).touch()

    assert files_of(flow_alone) == before


class Running:
    """The command, with a terminal of its own or none."""

    def __init__(self, folder: Path, *, has_terminal: bool) -> None:
        command = ["-m", "fleetlane.cli", "parser", "dev", str(folder), "--examples", "5"]
        command += ["--data", str(folder.parent / "no-platform")]
        self._shown = b""
        if has_terminal:
            self._process, self._keyboard = started_in_terminal(*command)
            self._output = self._keyboard
        else:
            self._output, end = os.pipe()
            self._process = subprocess.Popen(
                [sys.executable, *command], stdin=subprocess.DEVNULL, stdout=end, stderr=end
            )
            os.close(end)
        os.set_blocking(self._output, False)

    def press(self, key: bytes) -> None:
        os.write(self._keyboard, key)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def shows(self, text: str, *, times: int = 1) -> bool:
        """Wait until it has shown a text so often."""
        until_s = time.monotonic() + PATIENCE_S
        while self.shown.count(text) < times:
            if time.monotonic() > until_s or self._process.poll() is not None:
                return self.shown.count(text) >= times
            time.sleep(0.05)
        return True

    @property
    def shown(self) -> str:
        try:
            while chunk := os.read(self._output, 65_536):
                self._shown += chunk
        except OSError:  # nothing yet, or nothing more
            pass
        return self._shown.decode(errors="replace")

    def ended(self) -> int:
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it goes on: {self.shown}")

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._output)


def test_without_a_terminal_and_without_a_platform_it_checks_and_says_so(flow_alone: Path) -> None:
    with Running(flow_alone, has_terminal=False) as author:
        assert author.shows("not compared with real messages: no platform runs on"), author.shown
        (flow_alone / "flows" / "tank.toml").write_text("stream =")
        assert author.shows("tank.toml changed\nerror: "), author.shown
        author.interrupt()
        author.ended()

        assert ", 2 samples: ok\n" in author.shown
        assert ("q: quit" in author.shown, "Traceback" in author.shown) == (False, False)


def test_code_that_is_broken_is_named_and_mended_code_is_taken_at_once(tank: Path) -> None:
    code = tank / "tank" / "__init__.py"
    right = code.read_text()

    with Running(tank, has_terminal=False) as author:
        assert author.shows("2 samples: ok\n"), author.shown
        code.write_text(NO_SYNTAX)
        assert author.shows("SyntaxError: invalid syntax (__init__.py, line 1)"), author.shown
        code.write_text(right)
        assert author.shows("2 samples: ok\n", times=2), author.shown


def test_q_ends_it_in_a_terminal(flow_alone: Path) -> None:
    with Running(flow_alone, has_terminal=True) as author:
        assert author.shows("q: quit"), author.shown
        author.press(b"q")

        assert author.ended() == 0


@pytest.mark.parametrize("at", ["checking ", "q: quit"])
def test_ctrl_c_ends_it_without_a_traceback(flow_alone: Path, at: str) -> None:
    with Running(flow_alone, has_terminal=True) as author:
        assert author.shows(at), author.shown
        author.press(b"\x03")

        assert (author.ended(), "Traceback" in author.shown) == (130, False), author.shown


def test_p_deploys_and_publishes_and_what_refuses_it_does_not_end_the_loop(tank: Path) -> None:
    with Running(tank, has_terminal=True) as author:
        assert author.shows("q: quit"), author.shown
        author.press(b"p")
        assert author.shows("offers tank==0.1.0"), author.shown
        assert author.shows("error: no platform runs on"), author.shown
        author.press(b"q")

        assert author.ended() == 0


class Commands:
    """Runs the build alone; the others are noted, and fail from ``refused`` on."""

    def __init__(self, refused: str = "") -> None:
        self._refused, self.given = refused, list[list[str]]()

    def __call__(self, *arguments: object) -> bool:
        words = [str(one) for one in arguments]
        self.given.append(words)
        if words[1] == "build":
            return CliRunner().invoke(app, words).exit_code == 0
        return words[1] != self._refused


def test_a_publication_builds_deploys_and_publishes_to_the_platform_that_was_named(
    tank: Path,
) -> None:
    commands = Commands()

    publish_folder(tank, PlatformOptions(stage="prod"), commands)

    built, deployed, published = commands.given
    assert built[:3] == ["parser", "build", str(tank)]
    assert deployed[:2] == ["parser", "deploy"]
    assert Path(deployed[2]).name == "tank-0.1.0.zip"
    assert deployed[3:] == ["--owner", "my-team", "--stage", "prod"]
    assert published == ["flow", "publish", str(tank / "flows"), "--stage", "prod"]


def test_what_was_not_deployed_is_not_published(tank: Path) -> None:
    commands = Commands(refused="deploy")

    publish_folder(tank, PlatformOptions(), commands)

    assert [given[1] for given in commands.given] == ["build", "deploy"]


def test_a_flow_for_a_built_in_format_is_published_alone(flow_alone: Path) -> None:
    commands = Commands()

    publish_folder(flow_alone, PlatformOptions(), commands)

    assert commands.given == [["flow", "publish", str(flow_alone / "flows")]]


@pytest.fixture
def publisher() -> Iterator[FlowPublisher]:
    with flow_publisher() as found:
        yield found


def newest(streams: Collection[str]) -> NewestMessages:
    """Two messages in Kafka, of which JSON is one."""
    kafka = MemoryPositions()
    for number, body in enumerate((b'{"measured_at": 1, "value": 2}', b"1,2")):
        headers = headers_of(message_of(f"1{number:032x}", body, stream="tank"))
        named = [(name, value or b"") for name, value in headers]
        kafka.write("raw.standard", raw_key(ARRIVAL_MS + number), body, headers=named)
    return newest_messages(kafka, streams, messages_max=100)


def test_a_folder_is_compared_with_the_flow_in_force_on_real_messages(
    flow_alone: Path, publisher: FlowPublisher
) -> None:
    text = 'stream = "tank"\nowner = "acme"\n[[parsers]]\nuse = "senml"\n'
    publisher.publish([flow_from_toml(text, file="tank.toml")])

    lines = list(comparison_lines(project_at(flow_alone), publisher, newest))

    assert lines == ["tank: of the last 2 real messages 1 changes, 1 now parsed"]


def test_a_folder_that_is_not_in_force_says_what_would_be_parsed(
    flow_alone: Path, publisher: FlowPublisher
) -> None:
    lines = list(comparison_lines(project_at(flow_alone), publisher, newest))

    assert lines == ["tank: not in force yet; of the last 2 real messages 1 changes, 1 now parsed"]


def test_the_same_version_with_other_code_is_another_parser(
    tank: Path, publisher: FlowPublisher, tmp_path: Path
) -> None:
    built = ["parser", "build", str(tank), "--output", str(tmp_path / "dist")]
    assert CliRunner().invoke(app, built).exit_code == 0
    publisher.parsers.deploy(tmp_path / "dist" / "tank-0.1.0.zip", owner="my-team")
    publisher.publish(project_at(tank).flows.values())
    code = tank / "tank" / "__init__.py"
    code.write_text(code.read_text().replace('"value"', '"level"'))
    (body,) = (tank / "samples").glob("two-readings.bin")
    kafka = MemoryPositions()
    headers = headers_of(message_of(f"1{0:032x}", body.read_bytes(), stream="tank"))
    named = [(name, value or b"") for name, value in headers]
    kafka.write("raw.standard", raw_key(ARRIVAL_MS), body.read_bytes(), headers=named)

    lines = list(
        comparison_lines(
            project_at(tank),
            publisher,
            lambda streams: newest_messages(kafka, streams, messages_max=100),
        )
    )

    assert lines == ["tank: of the last 1 real message 1 changes, `value` removed, `level` added"]
