"""``fleetlane parser try|bench``: what a parser makes of messages, and how long it takes."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from fleetlane.cli.commands.parser import message_input
from fleetlane.cli.commands.parser.subject import SubjectOptions
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import file_argument
from fleetlane.cli.output.parser_results import enforcement, print_outcome
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.testkit.parser_process import ParserProcess, Timing, timed
from fleetlane.parsers.testkit.sites import Sites
from fleetlane.parsers.testkit.trials import Trial


class NotParsedError(FleetlaneError):
    """The message was tried, and the platform would not have emitted it."""

    outcome: str
    detail: str
    sentence = "{outcome}: {detail}"


def try_message(
    file: Annotated[
        typer.FileBinaryRead, typer.Argument(lazy=True, help="The message's bytes; - is stdin.")
    ],
    *,
    chosen: SubjectOptions,
    is_hex: Annotated[
        bool, typer.Option("--hex", help="FILE holds hexadecimal text, not bytes.")
    ] = False,
    is_record: Annotated[
        bool, typer.Option("--record", help="FILE is a record, as `tail --json` prints one.")
    ] = False,
    device_type: Annotated[
        str | None, typer.Option(help="Of the device: the flow chooses by it.")
    ] = None,
    firmware: Annotated[
        str | None, typer.Option(metavar="V", help="Of the device: the flow chooses by it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Parse one message and show its events, its time and their size.

    Exit code 1 says that it would be parked, or tried again in the slow lane, and why.
    """
    content = message_input.read_at_most(file, file.name)
    body = message_input.bytes_from_hex(content, file.name) if is_hex else content
    message = message_input.one_message(body, file.name, is_record=is_record)
    with Sites(uv=uv_program()) as sites:
        subject = chosen.subject(
            sites,
            device_type=device_type or message.device_type,
            firmware=firmware or message.firmware,
        )
        with ParserProcess(subject) as process:
            outcome = process.outcomes([message])[0]
    if as_json:
        document = {"parser": subject.identifier, **msgspec.to_builtins(outcome)}
        typer.echo(json.dumps(document, indent=2))
    if outcome.reason is not None:
        raise NotParsedError(outcome.reason, outcome.detail)
    if not as_json:
        print_outcome(outcome, subject)


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
        content = message_input.read_at_most(file, str(path))
    return message_input.one_message(
        content, str(path), is_record=message_input.is_of_records(path)
    )


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
