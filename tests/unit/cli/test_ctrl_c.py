"""Ctrl-C in a terminal, at whatever a command is doing: it ends, and shows no traceback."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from clients.device_api import DeviceKey
from fleetlane.cli.commands.device.keys import DeviceKeys
from fleetlane.cli.main import app
from local.checkout import ROOT
from local.data_folder import announced, taken_data_folder
from operations.endpoints import Endpoints
from tests.unit.cli.own_terminal import started_in_terminal

PATIENCE_S: Final = 120


def becomes_true(condition: Callable[[], bool]) -> bool:
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.02)
    return True


def has_children(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return any(task.read_text().strip() for task in tasks)


def pressed(*command: str, once: Callable[[int], bool], path: str = "") -> tuple[int, str]:
    """Press Ctrl-C in a command's terminal at some time; its exit code, and all that it showed."""
    environment = {**os.environ, "PYTHONPATH": path}  # noqa: TID251 - the child's
    process, keyboard = started_in_terminal("-m", "fleetlane.cli", *command, env=environment)
    try:
        assert becomes_true(lambda: once(process.pid) or process.poll() is not None)
        os.write(keyboard, b"\x03")
        code = process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    shown = b""
    try:
        while chunk := os.read(keyboard, 65_536):
            shown += chunk
    except OSError:  # all was read
        pass
    os.close(keyboard)
    return code, shown.decode(errors="replace")


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        yield listening


def is_connected(server: socket.socket) -> bool:
    try:
        accepted, _ = server.accept()
    except BlockingIOError:
        return False
    accepted.detach()  # stays open as long as this process
    return True


@pytest.fixture
def platform(tmp_path: Path, server: socket.socket) -> Iterator[Path]:
    """The data folder of a platform whose every address is the silent server's."""
    host, port = server.getsockname()
    url = f"http://{host}:{port}"
    endpoints = Endpoints(
        api=url, kafka=f"{host}:{port}", s3=url, dynamodb=url, region="eu-central-1"
    )
    DeviceKeys(tmp_path).write("d-1", DeviceKey.generate())
    with taken_data_folder(tmp_path), announced(endpoints, tmp_path):
        yield tmp_path


@pytest.fixture
def parser(tmp_path: Path) -> Path:
    folder = tmp_path / "tank"
    made = CliRunner().invoke(
        app, ["parser", "new", "tank", "--format", "json", "--folder", str(folder)]
    )
    assert made.exit_code == 0, made.output
    return folder


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("send", "gps", __file__, "--device", "d-1"), 130),
        (("tail", "parked"), 0),  # it has no other end
        (("status",), 130),
    ],
)
def test_a_command_that_waits_for_an_answer_ends(
    platform: Path, server: socket.socket, command: tuple[str, ...], expected: int
) -> None:
    code, shown = pressed(*command, "--data", str(platform), once=lambda _: is_connected(server))

    assert ("Traceback" in shown, code) == (False, expected), shown


@pytest.mark.parametrize("verb", ["test", "bench"])
def test_a_command_whose_child_works_ends_with_it(parser: Path, verb: str) -> None:
    work = {
        "test": [str(parser), "--examples", "1000000"],
        "bench": [*[str(ROOT / "README.md")] * 50, "--flow", str(parser / "flows" / "tank.toml")],
    }

    code, shown = pressed("parser", verb, *work[verb], once=has_children)

    assert ("Traceback" in shown, code) == (False, 130), shown


def test_a_command_that_is_still_being_loaded_ends(tmp_path: Path) -> None:
    marker = tmp_path / "loading"
    slow = f"import pathlib, time; pathlib.Path({str(marker)!r}).touch(); time.sleep(60)"
    (tmp_path / "typer.py").write_text(slow)

    code, shown = pressed("--help", once=lambda _: marker.exists(), path=str(tmp_path))

    assert (code in (-2, 130), "Traceback" in shown) == (True, False)


def test_ctrl_c_in_a_callback_whose_errors_python_ignores_ends_it(tmp_path: Path) -> None:
    marker = tmp_path / "in the callback"
    (tmp_path / "typer.py").write_text(
        "import pathlib, time, weakref\n"
        "class Dropped: pass\n"
        "def called(_):\n"
        f"    pathlib.Path({str(marker)!r}).touch()\n"
        "    time.sleep(60)\n"
        "one = Dropped()\n"
        "reference = weakref.ref(one, called)\n"
        "del one\n"
        "time.sleep(60)\n"
    )

    code, shown = pressed("--help", once=lambda _: marker.exists(), path=str(tmp_path))

    assert (code, shown.replace("^C", "").strip()) == (130, "")
