"""Commands that need a stage's brokers, run where these answer: on its operators' machine.

Session Manager reaches it, so that no port is open. The document of these sessions takes arguments
alone, as Base64 of JSON, and gives them to this module there; infra/stacks/operators.py has it.
"""

import base64
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

import typer

from fleetlane.cli.output.tables import PIPE_COLUMNS
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.stage_resources import OperatorHost

_BEGINS: Final = " begins"
_ENDED: Final = " ended "
_OF_THE_PLUGIN: Final = "Exiting session"


class OperatorHostError(FleetlaneError):
    """A command could not be run on the operators' machine, or did not come to its end there."""

    instance: str
    problem: str
    sentence = "the operators' machine {instance} did not run this: {problem}"


def is_near_kafka() -> bool:
    """Whether this is the operators' machine."""
    return "FLEETLANE_NEAR_KAFKA" in os.environ  # noqa: TID251 - the session's document sets it


def run_near_kafka(host: OperatorHost, arguments: Sequence[str], *, region: str) -> int:
    """Run the command there, pass on what it prints, errors too, and give its exit code.

    Raises:
        OperatorHostError: The AWS CLI or its plugin for sessions is missing, or the session ended
            without a code.
    """
    for program in ("aws", "session-manager-plugin"):
        if shutil.which(program) is None:
            raise OperatorHostError(host.instance, f"install {program}, which is not on PATH")
    columns, zone = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns, time.strftime("%z")
    posix = f"<{zone}>{'+' if zone[0] == '-' else '-'}{zone[1:3]}:{zone[3:]}"
    mark = secrets.token_hex(8)  # no device knows it, whose bytes are printed too
    given = [str(columns), posix, mark, *arguments]
    encoded = base64.urlsafe_b64encode(json.dumps(given).encode()).decode()
    session = ["--target", host.instance, "--document-name", host.document, "--region", region]
    command = ["aws", "ssm", "start-session", *session]
    command += ["--parameters", json.dumps({"arguments": [encoded]})]
    code, last = _passed_on(command, mark)
    if code is None:
        raise OperatorHostError(host.instance, last or "it said nothing")
    return code


def _passed_on(command: Sequence[str], mark: str) -> tuple[int | None, str]:
    """Print what the command prints there; gives its exit code, and what else was said last."""
    code, last, is_ours = None, "", False
    with subprocess.Popen(  # noqa: S603 - our own command, never a shell
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        for line in map(str.rstrip, running.stdout or ()):
            if line == mark + _BEGINS:
                is_ours = True
            elif is_ours and line.startswith(mark + _ENDED):
                code, is_ours = int(line.removeprefix(mark + _ENDED)), False
            elif is_ours:
                typer.echo(line)
            elif line and not line.startswith(_OF_THE_PLUGIN):
                last = line
    return code, last


def main() -> None:
    """Run, on that machine, the command that was given, and say how it ended."""
    from fleetlane.cli.__main__ import main as run  # noqa: PLC0415 - it loads all that is asked

    columns, zone, mark, *sys.argv[1:] = json.loads(base64.urlsafe_b64decode(sys.argv[1]))
    os.environ |= {"COLUMNS": columns, "TZ": zone}  # noqa: TID251 - the terminal is elsewhere
    time.tzset()
    sys.stderr = sys.stdout
    typer.echo(mark + _BEGINS)
    code: object = 1
    try:
        run()
    except SystemExit as ended:  # as every command ends
        code = ended.code or 0
    finally:
        typer.echo(f"{mark}{_ENDED}{code}")


if __name__ == "__main__":
    main()
