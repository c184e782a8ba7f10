"""Flow files checked against each other, and against the parsers that they name."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import OPTIONS_BYTES_MAX
from fleetlane.events.flows.flow import Flow, FlowSet
from fleetlane.events.flows.ownership import topic_collisions
from fleetlane.events.flows.rule_coverage import gaps, overlaps
from fleetlane.events.lake.views import breaking_changes
from fleetlane.parsers.sandbox.platforms import sandboxes_for_this_system
from fleetlane.parsers.testkit.trials import Subject

type Locate = Callable[[str, str], str | None]
"""Where what an owner's flow writes is: a folder for ``sys.path``, or ``None`` if it is installed.

Raises ``FleetlaneError`` where it is nowhere.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """``problems`` prevent publishing; ``notes`` do not. A sentence each."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


def checked_flows(
    flows: FlowSet, folder: Path, locate: Locate, *, before: Iterable[Flow] = ()
) -> FlowReport:
    """Check flows that were read from ``folder``. Each parser is loaded, in a child on Linux.

    Schemas are compared with those of the flows ``before``, which they will replace.
    """
    problems = [
        *topic_collisions(flows.values()),
        *((one.stream, each) for one in flows.values() for each in overlaps(one)),
        *breaking_changes(before, flows.values()),
        *_parser_problems(flows, locate),
    ]
    notes = [(one.stream, each) for one in flows.values() for each in gaps(one)]
    return FlowReport(problems=_of_files(folder, problems), notes=_of_files(folder, notes))


def _of_files(folder: Path, found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{folder / f'{stream}.toml'}: {sentence}" for stream, sentence in found)


def _parser_problems(flows: FlowSet, locate: Locate) -> Iterator[tuple[str, str]]:
    with closing(sandboxes_for_this_system()) as sandboxes:
        for flow in flows.values():
            for rule in flow.parsers:
                try:
                    program = Subject.located(flow, rule, locate(flow.owner, rule.use)).program
                except FleetlaneError as problem:
                    yield flow.stream, str(problem)
                    continue
                size, most = len(program.options), OPTIONS_BYTES_MAX
                too_long = f"its options have {size} bytes; the limit is {most} bytes"
                refusal = too_long if size > most else sandboxes.loaded(program, flow.owner).problem
                if refusal is not None:
                    yield flow.stream, f"parser {rule.use} cannot be loaded: {refusal}"
