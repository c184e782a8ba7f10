"""What a publication changes: its flows, and what their parsers make of real messages."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import batched
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from fleetlane.cli.commands.parser.message_input import readable
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.envelope import Record
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.flows.artifacts import is_of_a_team, split_use
from fleetlane.events.flows.flow import Flow, FlowSet
from fleetlane.parsers.artifacts.writing import unpack
from fleetlane.parsers.testkit.differences import NOTHING, Difference, Kind, difference
from fleetlane.parsers.testkit.flow_checks import Locate
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.sites import Project, Sites
from fleetlane.parsers.testkit.trials import Outcome, Subject, Trial
from operations.flows.publisher import FlowPublisher
from operations.messages.newest import NewestMessages, newest_messages
from operations.platform import Platform

_MESSAGES_MAX: Final = 100
_COMPARED_S_MAX: Final = 20.0
_TRIALS_AT_ONCE: Final = 10
_FIELDS_SHOWN_MAX: Final = 5
_UNPARSED: Final = Outcome(reason=ParkedReason.NO_FLOW, detail="", parse_us=0)

type Newest = Callable[[Collection[str]], NewestMessages]
"""Reads the newest messages of streams."""


def newest_of(platform: Platform) -> Newest:
    def read(streams: Collection[str]) -> NewestMessages:
        with closing(platform.messages.reader()) as kafka:
            return newest_messages(kafka, streams, messages_max=_MESSAGES_MAX)

    return read


class DeployedParsers(ExitStack):
    """Finds parsers in artifacts. As a context, keeps their folders until it is left."""

    def __init__(self, publisher: FlowPublisher) -> None:
        super().__init__()
        self._publisher = publisher
        self._known: dict[str, str] = {}

    def location(self, owner: str, use: str) -> str | None:
        """A folder with the parser in it; ``None`` for a built-in format."""
        if not is_of_a_team(use):
            return None
        artifact = self._publisher.found_artifact(owner, use)
        if artifact.sha256 not in self._known:
            folder = Path(self.enter_context(TemporaryDirectory()))
            self._publisher.parsers.fetch(artifact, folder / "artifact.zip")
            unpack(folder / "artifact.zip", folder / "unpacked")
            self._known[artifact.sha256] = str(folder / "unpacked")
        return self._known[artifact.sha256]


def comparison_lines(project: Project, publisher: FlowPublisher, newest: Newest) -> Iterator[str]:
    """A line for each flow of an author's folder, compared with its stream's flow in force.

    Raises:
        FleetlaneError: The folder's flows are refused, or the platform does not answer.
    """
    flows, before = project.flows, publisher.current().by_stream
    messages = newest(flows)
    with Sites(uv=uv_program()) as sites, DeployedParsers(publisher) as deployed:
        for stream, flow in flows.items():
            found = compared(
                before.get(stream),
                flow,
                messages.of_stream[stream],
                deployed.location,
                lambda _, use: sites.parser(use, project).location,
            )
            yield f"{stream}: {found if stream in before else f'not in force yet; {found}'}"


def preview_lines(before: FlowSet, after: FlowSet, locate: Locate, newest: Newest) -> Iterator[str]:
    """A line a flow that changes, and one for streams that have traffic and no flow after it.

    ``before`` and ``after`` are all flows in force. Where Kafka cannot be read, a line says so.
    """
    changed = sorted(one for one in {**before, **after} if before.get(one) != after.get(one))
    try:
        messages, problem = newest(changed), None
    except FleetlaneError as outage:
        messages, problem = NewestMessages(of_stream={}, streams=()), outage
    lines = []
    for stream in changed:
        old, new = before.get(stream), after.get(stream)
        lines.append(f"{stream} {_change(old, new)}")
        if new is not None and problem is None:
            lines[-1] += f"; {compared(old, new, messages.of_stream[stream], locate)}"
    if len(lines) == 1:
        yield f"1 flow changes: {lines[0]}"
    else:
        yield f"{len(lines) or 'no'} flows change"
        yield from (f"  {line}" for line in lines)
    undeclared = sorted(set(messages.streams) - after.keys())
    if undeclared:
        yield f"streams with traffic but no flow: {', '.join(undeclared)}"
    if problem is not None:
        yield f"not compared with real messages: {problem}"


def _change(old: Flow | None, new: Flow | None) -> str:
    if old is None or new is None:
        return "removed" if new is None else f"new, {_uses(new)}"
    fields = [
        one
        for one in msgspec.structs.asdict(new)
        if getattr(old, one) != getattr(new, one) and (one != "parsers" or _uses(old) == _uses(new))
    ]
    uses = _versions(old, new) if _uses(old) != _uses(new) else ""
    return ", ".join(filter(None, [uses, *(f"other {one}" for one in fields)]))


def _uses(flow: Flow) -> str:
    return ", ".join(one.use for one in flow.parsers)


def _versions(old: Flow, new: Flow) -> str:
    """``0.1.0 -> 0.2.0`` where a single parser is another version, else with the names."""
    (name, version), (other, later) = (split_use(one.parsers[0].use) for one in (old, new))
    if len(old.parsers) == len(new.parsers) == 1 and name == other and version and later:
        return f"{version} -> {later}"
    return f"{_uses(old)} -> {_uses(new)}"


def compared(
    old: Flow | None,
    new: Flow,
    records: Sequence[Record],
    locate: Locate,
    locate_new: Locate | None = None,
) -> str:
    """What becomes of messages, by their parsers of both versions, each in its own process."""
    trials = [trial for _, trial in readable(records)]
    try:
        sides = ((old, locate), (new, locate_new or locate))
        outcomes = [_outcomes(flow, trials, where) for flow, where in sides]
    except FleetlaneError as problem:
        return f"not compared with real messages: {problem}"
    pairs = zip(*outcomes, strict=True)
    return _summary([difference(*pair) for pair in pairs if None not in pair])


def _outcomes(flow: Flow | None, trials: Sequence[Trial], locate: Locate) -> list[Outcome | None]:
    """In the messages' order; ``None`` of those that there was no time for."""
    if flow is None:
        return [_UNPARSED] * len(trials)
    rules = [trial.rule_in(flow) for trial in trials]
    found: list[Outcome | None] = [_UNPARSED if rule is None else None for rule in rules]
    until_s = time.monotonic() + _COMPARED_S_MAX
    for rule in flow.parsers:
        places = [place for place, one in enumerate(rules) if one is rule]
        location = locate(flow.owner, rule.use) if places else None
        with ParserProcess(Subject.located(flow, rule, location)) as process:
            for some in batched(places, _TRIALS_AT_ONCE, strict=False):
                if time.monotonic() < until_s:
                    outcomes = process.outcomes([trials[place] for place in some])
                    for place, outcome in zip(some, outcomes, strict=True):
                        found[place] = outcome
    return found


def _summary(found: Sequence[Difference]) -> str:
    if not found:
        return "no real messages to compare"
    kinds = Counter(one.kind for one in found)
    changed = len(found) - kinds[Kind.SAME] - kinds[Kind.REFUSED_OTHERWISE]
    texts = [
        f"of the last {number_of(len(found), 'real message')} {changed}"
        f" change{'s' if changed == 1 else ''}"
    ]
    texts += [f"{kinds[one]} {one}" for one in (Kind.NOW_PARSED, Kind.NOW_REFUSED) if kinds[one]]
    fields = [field for one in found for event in one.events for field in event.fields]
    removed = dict.fromkeys(one.path for one in fields if one.new == NOTHING)
    added = dict.fromkeys(one.path for one in fields if one.old == NOTHING)
    for paths, word in ((removed, "removed"), (added, "added")):
        shown = ", ".join(f"`{path}`" for path in list(paths)[:_FIELDS_SHOWN_MAX])
        texts += [f"{shown} {word}"] if paths else []
    return ", ".join(texts)
