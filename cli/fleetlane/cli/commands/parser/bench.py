"""``fleetlane parser bench``: the time that a message takes, beside its lane's limit."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.commands.parser.message_input import is_of_records, one_message, read_at_most
from fleetlane.cli.commands.parser.subject import SubjectOptions
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import file_argument
from fleetlane.cli.output.parser_results import enforcement
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import number_of
from fleetlane.parsers.testkit.parser_process import ParserProcess, Timing, timed
from fleetlane.parsers.testkit.sites import Sites
from fleetlane.parsers.testkit.trials import Trial


def bench(
    files: Annotated[
        list[Path],
        file_argument(
            metavar="FILE…", help="Messages: bytes, or records in files named .record.json."
        ),
    ],
    *,
    chosen: SubjectOptions,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Parse messages repeatedly, and show the microseconds for each.

    On Linux in the same sandbox as the jobs; the time includes writing canonical events.
    """
    trials = {path: _trial(path) for path in files}
    with Sites(uv=uv_program()) as sites:
        subject = chosen.subject(sites)
        with ParserProcess(subject) as process:
            timings = {path: timed(process, trial) for path, trial in trials.items()}
    if as_json:
        document = {str(path): dataclasses.asdict(timing) for path, timing in timings.items()}
        typer.echo(json.dumps(document, indent=2))
        return
    for path, timing in timings.items():
        typer.echo(_line(path, timing))
    typer.echo(
        f"{subject.identifier}; the {subject.lane} lane allows {subject.limit_ms} ms a message"
        f"{enforcement()}"
    )


def _trial(path: Path) -> Trial:
    with path.open("rb") as file:
        content = read_at_most(file, str(path))
    return one_message(content, str(path), is_record=is_of_records(path))


def _line(path: Path, timing: Timing) -> str:
    size = f"{escaped(str(path))}: {number_of(timing.body_bytes, 'byte')}"
    if timing.reason is not None and timing.rounds == 1:
        return f"{size}, {timing.reason}: {escaped(timing.detail)}"
    share = timing.p99_us / timing.limit_ms / 10
    outcome = number_of(timing.events, "event") if timing.reason is None else timing.reason
    return (
        f"{size}, {outcome}: median {timing.median_us} µs, p99 {timing.p99_us} µs, "
        f"{share:.2g} % of the limit ({number_of(timing.rounds, 'round')})"
    )
