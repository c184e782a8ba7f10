"""``fleetlane parser try``: one message, and what a parser makes of it."""

import json
from typing import Annotated

import msgspec
import typer

from fleetlane.cli.commands.parser.message_input import bytes_from_hex, one_message, read_at_most
from fleetlane.cli.commands.parser.subject import SubjectOptions
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.output.parser_results import print_outcome
from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.sites import Sites


class NotParsedError(FleetlaneError):
    """The message was tried, and the platform would not have emitted it."""

    outcome: str
    detail: str
    sentence = "{outcome}: {detail}"


def try_message(
    file: Annotated[
        typer.FileBinaryRead,
        typer.Argument(metavar="FILE", lazy=True, help="The message's bytes; - is stdin."),
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
        str | None, typer.Option(metavar="TYPE", help="Of the device: the flow chooses by it.")
    ] = None,
    firmware: Annotated[
        str | None, typer.Option(metavar="V", help="Of the device: the flow chooses by it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Parse one message and show its events, its time and their size.

    Exit code 1 says that it would be parked, or tried again in the slow lane, and why.
    """
    content = read_at_most(file, file.name)
    body = bytes_from_hex(content, file.name) if is_hex else content
    message = one_message(body, file.name, is_record=is_record)
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
