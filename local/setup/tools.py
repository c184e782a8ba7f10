"""Runs another program: its output condensed on the screen, whole in a log."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Callable

from local.setup.steps import say

SILENCE_SECONDS = 15.0
TAIL_LINES = 20
ANSWER_SECONDS = 60.0

Condense = Callable[[str], "str | None"]  # a line of output -> what to show of it, if anything

# What a tool prints, what then is missing, and what to do before it is run again. The first match
# wins: a tool that found no Python also prints that it could not fetch one.
KNOWN_CAUSES = Path(__file__).with_name("known_causes.json")


class CannotSetUpError(Exception):
    """Something needed is not there. Running again is safe: nothing half-made counts as made."""

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(missing, remedy)
        self.missing, self.remedy = missing, remedy

    def __str__(self) -> str:
        return f"{self.missing}; {self.remedy}."


def run_tool(
    name: str,
    command: list[str],
    *,
    environment: Mapping[str, str],
    log: Path,
    condense: Condense = lambda _: None,
) -> None:
    """Run a program and wait for its end; it is ended with us. ``log`` receives all it prints.

    Raises ``CannotSetUpError`` where it failed; for an unknown cause its last lines are shown.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        with log.open("w", encoding="utf-8") as file:
            for line in _lines(process):
                file.write(f"{line}\n")
                shown = condense(line)
                if shown:
                    say(f"  {shown}")
        if process.wait() != 0:
            raise _failure(name, process.returncode, log)
    finally:
        _end(process)


def _failure(name: str, exit_code: int, log: Path) -> CannotSetUpError:
    output = log.read_text(encoding="utf-8")
    cause = cause_of(output)
    if cause:
        return CannotSetUpError(f"{cause.missing} ({name})", cause.remedy)
    for line in output.splitlines()[-TAIL_LINES:]:
        say(f"  | {line}")
    remedy = f"its whole output is in {log}"
    return CannotSetUpError(f"{name} failed with exit code {exit_code}", remedy)


def cause_of(output: str) -> CannotSetUpError | None:
    """The known cause that a failed tool's output points to, if any."""
    for known in json.loads(KNOWN_CAUSES.read_text(encoding="utf-8")):
        if re.search("|".join(known["printed"]), output, re.IGNORECASE):
            again = "and run the same command again, which goes on where it stopped"
            return CannotSetUpError(known["missing"], f"{known['remedy']} {again}")
    return None


def version_text(program: Path, question: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """What a program prints when asked for its version; empty when it cannot be run."""
    try:
        answer = subprocess.run(
            [str(program), *question],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The program's lines as they come; after a long silence a line says that it still works."""
    assert process.stdout is not None
    started_s, rest = time.monotonic(), b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], SILENCE_SECONDS)
        if not ready:
            say(f"  still working, {time.monotonic() - started_s:.0f} s so far")
            continue
        chunk = os.read(process.stdout.fileno(), 65536)
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in whole)
    if rest:
        yield rest.decode(errors="replace").rstrip()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.close()
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
