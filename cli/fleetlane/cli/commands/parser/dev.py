"""``fleetlane parser dev``: an author's loop, from a changed file to a published flow."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import typer

from fleetlane.cli.command_group import PlatformNotInstalledError
from fleetlane.cli.commands.parser.check import ExamplesOption, FolderArgument, check
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import counted, number_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.testkit.checking import EXAMPLES
from fleetlane.parsers.testkit.sites import project_at
from fleetlane.parsers.testkit.trials import FAILURES

_POLL_INTERVAL_S: Final = 0.5
_KEYS: Final = "p: deploy and publish, r: run again, q: quit"
_MADE: Final = frozenset({"__pycache__", "build", "dist", FAILURES})

type Files = Mapping[Path, tuple[int, int]]
"""Each file's modification time in nanoseconds, and its size."""


def author_loop(
    folder: Path,
    *,
    run: Callable[[], bool],
    publish: Callable[[], None],
    key: Callable[[float], str],
    hint: str = "",
) -> None:
    """Run at each change of a folder's files, and act on keys until ``q``.

    ``run`` and ``publish`` print what they find; ``run`` returns whether all is well. ``key`` waits
    at most so many seconds for one, and returns an empty text where none was pressed.
    """
    known: Files = {}
    is_well = must_run = False
    while True:
        files = files_of(folder)
        if must_run or files != known:
            typer.echo(f"{time.strftime('%H:%M:%S')}  {_changes(known, files)}")
            known, is_well, must_run = files, run(), False
            typer.echo(hint, nl=bool(hint))
        match key(_POLL_INTERVAL_S):
            case "q":
                return
            case "r":
                must_run = True
            case "p" if is_well:
                publish()
            case "p":
                typer.echo("a check failed: nothing is published")
            case _:
                pass  # no key, or one that does nothing


def files_of(folder: Path) -> Files:
    """What an author writes there: neither hidden files, nor what commands make."""
    found = {}
    for parent, folders, names in folder.walk():
        folders[:] = [name for name in folders if name[0] != "." and name not in _MADE]
        for path in (parent / name for name in names if name[0] != "."):
            with suppress(FileNotFoundError):  # removed since it was listed
                stat = path.stat()
                found[path] = stat.st_mtime_ns, stat.st_size
    return found


def _changes(known: Files, files: Files) -> str:
    names = sorted({path.name for path, _ in known.items() ^ files.items()})
    if not known or not names:
        return f"checking {number_of(len(files), 'file')}"
    return f"{', '.join(names[:3])}{', …' if names[3:] else ''} changed"


def pressed_key(wait_s: float) -> str:
    """A key of the terminal, without Enter, within so many seconds. Its end counts as ``q``."""
    import termios  # noqa: PLC0415 - Windows has none
    import tty  # noqa: PLC0415 - likewise

    usual = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSADRAIN)
        ready, _, _ = select.select([sys.stdin], [], [], wait_s)
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or "q" if ready else ""
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, usual)


def no_key(wait_s: float) -> str:
    """For where there is no terminal."""
    time.sleep(wait_s)
    return ""


def dev(
    folder: FolderArgument = Path(), *, examples: ExamplesOption = EXAMPLES, where: PlatformOptions
) -> None:
    """Check a folder's parsers at each change of a file, and publish at a key.

    It checks as `parser test` does and, where a platform runs, says what would change for the
    newest raw messages. Without a terminal it takes no keys. Ctrl-C ends it.
    """

    def run() -> bool:
        is_well = True
        try:
            check(folder, examples=examples)
        except (FleetlaneError, OSError) as problem:  # OSError: a file may be half written
            typer.echo(f"error: {problem}", err=True)
            is_well = False
        typer.echo(_comparison(folder, where))
        return is_well

    has_keys = sys.stdin.isatty() and sys.stdout.isatty() and find_spec("termios") is not None
    key, hint = (pressed_key, _KEYS) if has_keys else (no_key, "")
    author_loop(folder, run=run, publish=lambda: publish_folder(folder, where), key=key, hint=hint)


def _command(*arguments: object) -> bool:
    """Run a command of ours in a process of its own: nothing that it imports is stale."""
    command = [sys.executable, "-P", "-m", "fleetlane.cli", *map(str, arguments)]
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603 - our own


def _comparison(folder: Path, where: PlatformOptions) -> str:
    try:
        if find_spec("operations") is None:
            raise PlatformNotInstalledError
        from fleetlane.cli.commands.flow import preview  # noqa: PLC0415 - as checked

        project, platform = project_at(folder), where.platform()
        with counted("comparing with real messages"):
            newest = preview.newest_of(platform)
            lines = preview.comparison_lines(project, platform.publisher, newest)
            return "\n".join(map(escaped, lines))
    except (FleetlaneError, OSError) as problem:
        return f"not compared with real messages: {problem}"


def publish_folder(
    folder: Path, where: PlatformOptions, command: Callable[..., bool] = _command
) -> None:
    """Build and deploy its parsers for its flows' owners, and publish its flows, which asks."""
    given = (("--stage", where.stage), ("--data", where.data))
    place = [word for option in given if option[1] is not None for word in option]
    with TemporaryDirectory() as built:
        project = project_at(folder)
        if project.parsers and not command("parser", "build", folder, "--output", built):
            return
        owners = sorted({flow.owner for flow in project.flows.values()})
        for artifact, owner in product(Path(built).iterdir(), owners):
            if not command("parser", "deploy", artifact, "--owner", owner, *place):
                return
    command("flow", "publish", folder / "flows", *place)
