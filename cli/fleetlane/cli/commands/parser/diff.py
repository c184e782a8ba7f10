"""``fleetlane parser diff``: compares two versions of a parser on real messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from fleetlane.events.flows.artifacts import split_use
from fleetlane.events.flows.files import flow_at
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import Lane
from fleetlane.parsers.registry import InstalledParser
from fleetlane.parsers.testkit.differences import Difference, Kind, difference
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.samples import recorded_trial
from fleetlane.parsers.testkit.sites import Sites, project_around
from fleetlane.parsers.testkit.trials import Subject, Trial

TOPICS: Final = ("parked", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Messages of a stream, ``None`` for any; of a flow, those that these of its rules are for."""

    flow: Flow | None
    stream: str | None
    rules: Sequence[ParserRule]
    where: PlatformOptions

    def has(self, trial: Trial) -> bool:
        if self.stream not in (None, trial.stream):
            return False
        return self.flow is None or trial.rule_in(self.flow) in self.rules


def messages_from(sources: Sequence[str], wanted: Wanted, *, messages_max: int) -> dict[str, Trial]:
    """Messages by where they come from."""
    found: dict[str, Trial] = {}
    for source in sources:
        if source in TOPICS:
            found.update(_of_topics(source, wanted, messages_max))
        else:
            found.update(_of_file(Path(source), wanted))
    return dict(list(found.items())[-messages_max:])


def _located(spec: str, sites: Sites, use: str | None) -> InstalledParser:
    """Find a parser by what stands for OLD or NEW; ``use`` says which where several are offered."""
    path = Path(spec)
    if path.suffix == ".zip":
        return sites.of_artifact(path, use)
    if not path.is_dir():
        return sites.parser(spec, project_around(Path()))
    offered = sites.parsers_of(project_in(path))
    fitting = [one for one in offered if use is None or one.name == split_use(use)[0]]
    if len(fitting) != 1:
        uses = ", ".join(one.use for one in offered)
        raise BadOptionsError(f"{spec} offers {uses}: say which with --parser")
    return fitting[0]


def _subject(parser: InstalledParser, flow: Flow | None, lane: Lane | None) -> Subject:
    """Any version of a parser, with the options that it has in the flow."""
    rules = _rules_of(flow, parser)
    if flow is None or not rules:
        return Subject.bare(parser, lane)
    rule = ParserRule(use=parser.use, options=rules[0].options)
    return Subject.of(flow, rule, parser, lane)


def _rules_of(flow: Flow | None, *parsers: InstalledParser) -> list[ParserRule]:
    """The flow's rules for any versions of these parsers."""
    names = [parser.name for parser in parsers]
    return [one for one in (flow.parsers if flow else ()) if split_use(one.use)[0] in names]


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
        trial = recorded_trial(record)
        if wanted.has(trial):
            yield f"{path}, line {number}", trial


def _of_topics(source: str, wanted: Wanted, messages_max: int) -> Iterator[tuple[str, Trial]]:
    if wanted.stream is None:
        raise BadOptionsError(f"say whose messages of {source}: --flow FILE, or --stream STREAM")
    # Not above: files are compared where no platform is installed.
    from operations.messages.stores import latest_records  # noqa: PLC0415

    stored = wanted.where.platform().messages.records()
    latest = latest_records(stored, source, wanted.stream, records_max=messages_max)
    for record, trial in message_input.readable(latest):
        if wanted.has(trial):
            yield str(record.position), trial


def diff(
    old: Annotated[str, typer.Argument(help="name==version, an artifact (.zip), or a folder.")],
    new: Annotated[str, typer.Argument(help="The new version, given the same way.")],
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
        str | None, typer.Option(help="Only records of this stream.", show_default="the flow's")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="The most messages to compare; of topics, the latest.")
    ] = 1000,
    lane: LaneOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    exit_code: Annotated[
        bool, typer.Option(help="Exit code 1: they differ, as with git diff.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Compare two versions of a parser on real messages.

    Each version runs in a process of its own, with the flow's options.
    """
    chosen = None if flow is None else flow_at(flow)
    with Sites(uv=uv_program()) as sites:
        parsers = [_located(spec, sites, parser) for spec in (old, new)]
        subjects = [_subject(one, chosen, lane) for one in parsers]
        rules = _rules_of(chosen, *parsers) or (chosen.parsers if chosen else ())
        named = stream or (chosen.stream if chosen else None)
        wanted = Wanted(flow=chosen, stream=named, rules=rules, where=where)
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
