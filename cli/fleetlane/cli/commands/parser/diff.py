"""``fleetlane parser diff``: compares two versions of a parser on real messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from fleetlane.cli.commands.parser import message_input
from fleetlane.cli.commands.parser.subject import FlowOption, LaneOption, project_in
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output import parser_results
from fleetlane.events.flows.artifacts import parser_rule_for, split_use
from fleetlane.events.flows.files import flow_at
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import Lane
from fleetlane.parsers.registry import InstalledParser
from fleetlane.parsers.testkit.differences import Difference, Kind, difference
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.samples import RecordedMessage, recorded_message
from fleetlane.parsers.testkit.sites import Sites, project_around
from fleetlane.parsers.testkit.subjects import bare_subject, subject_of
from fleetlane.parsers.testkit.trials import Subject, Trial

TOPICS: Final = ("parked", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The flow, its or another stream, ``None`` for any; ``parser`` where several are offered.

    Of the flow's messages those are wanted that one of the parsers of these ``names`` is for.
    """

    flow: Flow | None
    stream: str | None
    parser: str | None
    where: PlatformOptions
    names: frozenset[str] = frozenset()


def subject_from(spec: str, sites: Sites, wanted: Wanted, lane: Lane | None) -> Subject:
    """Find a parser by what stands for OLD or NEW, with the flow's options for any version."""
    parser = _located(spec, sites, wanted)
    name, _ = split_use(parser.use)
    rules = () if wanted.flow is None else wanted.flow.parsers
    rule = next((one for one in rules if split_use(one.use)[0] == name), None)
    if wanted.flow is None or rule is None:
        return bare_subject(parser, lane)
    rule = ParserRule(use=parser.use, options=rule.options)
    return subject_of(wanted.flow, rule, parser, lane)


def messages_from(sources: Sequence[str], wanted: Wanted, *, messages_max: int) -> dict[str, Trial]:
    """Messages by where they come from."""
    found: dict[str, Trial] = {}
    for source in sources:
        if source in TOPICS:
            found.update(_of_topics(source, wanted, messages_max))
        else:
            found.update(_of_file(Path(source), wanted))
    return dict(list(found.items())[-messages_max:])


def _located(spec: str, sites: Sites, wanted: Wanted) -> InstalledParser:
    path = Path(spec)
    if path.suffix == ".zip":
        return sites.of_artifact(path, wanted.parser)
    if not path.is_dir():
        return sites.parser(spec, project_around(Path()))
    offered = sites.parsers_of(project_in(path))
    name = wanted.parser and split_use(wanted.parser)[0]
    fitting = [one for one in offered if name in (None, split_use(one.use)[0])]
    if len(fitting) != 1:
        uses = ", ".join(one.use for one in offered)
        raise BadOptionsError(f"{spec} offers {uses}: say which with --parser")
    return fitting[0]


def _of_file(path: Path, wanted: Wanted) -> Iterator[tuple[str, Trial]]:
    try:
        with path.open("rb") as file:
            content = message_input.read_at_most(file, str(path))
    except OSError as problem:
        why = f"cannot be read: {problem.strerror}"
        raise message_input.BadInputError(str(path), why) from None
    if not message_input.is_of_records(path):
        yield str(path), Trial(body=content)
        return
    for number, record in enumerate(message_input.records_from(content, str(path)), start=1):
        message = recorded_message(record)
        if _is_wanted(message, wanted):
            yield f"{path}, line {number}", message.trial


def _of_topics(source: str, wanted: Wanted, messages_max: int) -> Iterator[tuple[str, Trial]]:
    if wanted.stream is None:
        raise BadOptionsError(f"say whose messages of {source}: --flow FILE, or --stream STREAM")
    # Not above: files are compared where no platform is installed.
    from operations.messages.stores import latest_records  # noqa: PLC0415

    stored = wanted.where.platform().messages.records()
    latest = latest_records(stored, source, wanted.stream, records_max=messages_max)
    for record, message in message_input.readable(latest):
        if _is_wanted(message, wanted):
            yield str(record.position), message.trial


def _is_wanted(message: RecordedMessage, wanted: Wanted) -> bool:
    """Whether the flow gives this device's messages to the parser that is compared."""
    if wanted.stream not in (None, message.stream):
        return False
    if wanted.flow is None:
        return True
    rule = parser_rule_for(wanted.flow, device_type=message.device_type, firmware=message.firmware)
    return rule is not None and (not wanted.names or split_use(rule.use)[0] in wanted.names)


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="name==version, an artifact (.zip), or a folder.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new version, given the same way.")],
    more_files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="More files of messages.")
    ] = None,
    *,
    sources: Annotated[
        list[str],
        typer.Option(
            "--from",
            metavar="FILE|parked|raw",
            help="Messages: bytes, records (.record.json, .records.jsonl), or the"
            " topics of a running platform.",
        ),
    ],
    parser: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The parser to compare, if an artifact or folder offers several."
        ),
    ] = None,
    flow: FlowOption = None,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream",
            metavar="STREAM",
            help="Only records of this stream.",
            show_default="the flow's",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="The most messages to compare; of topics, the latest.")
    ] = 1000,
    lane: LaneOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit code 1: they differ, as with git diff.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Compare two versions of a parser on real messages.

    Each version runs in a process of its own, with the flow's options.
    """
    chosen = None if flow is None else flow_at(flow)
    named = stream or (None if chosen is None else chosen.stream)
    wanted = Wanted(flow=chosen, stream=named, parser=parser, where=where)
    with Sites(uv=uv_program()) as sites:
        subjects = [subject_from(spec, sites, wanted, lane) for spec in (old, new)]
        names = (split_use(one.rule.use)[0] for one in subjects if one.flow is chosen)
        wanted = replace(wanted, names=frozenset(names))
        messages = messages_from([*sources, *(more_files or ())], wanted, messages_max=limit)
        trials, pair = list(messages.values()), []
        for subject in subjects:
            with ParserProcess(subject) as process:
                pair.append(process.outcomes(trials))
    found = dict(zip(messages, map(difference, *pair), strict=True))
    _print(found, as_json=as_json)
    if exit_code and any(one.kind is not Kind.SAME for one in found.values()):
        raise typer.Exit(1)


def _print(found: Mapping[str, Difference], *, as_json: bool) -> None:
    if as_json:
        document = {
            "messages": msgspec.to_builtins(found),
            "summary": parser_results.counts_of(found),
            "both_refuse": parser_results.both_refuse(found),
        }
        typer.echo(json.dumps(document, indent=2))
        return
    for name, one in found.items():
        typer.echo(parser_results.difference_line(name, one))
    typer.echo(parser_results.summary_line(found))
