"""The options that say which parser a command is about, and what they lead to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.selection import BadOptionsError, file_option
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import parser_rule_for
from fleetlane.events.flows.files import flow_at
from fleetlane.events.lanes import Lane
from fleetlane.parsers.testkit import sites as projects
from fleetlane.parsers.testkit.trials import Subject

FlowOption = Annotated[
    Path | None,
    file_option(
        metavar="FILE",
        help="The flow file that says which parser, and its options.",
        show_default="the only one in ./flows",
    ),
]
LaneOption = Annotated[
    Lane | None, typer.Option(help="The lane whose limits hold.", show_default="the flow's")
]


class NoRuleError(FleetlaneError):
    """A flow has no parser for a device: the platform would park its messages as ``no_flow``."""

    stream: str
    device_type: str | None
    firmware: str | None
    sentence = (
        "flow {stream!r} has no parser for device type {device_type!r} and firmware {firmware!r}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """Which parser a command is about, and in which lane."""

    parser: Annotated[
        str | None,
        typer.Option(
            metavar="NAME==V",
            help="The parser, with its default options; a built-in format goes by its name alone.",
        ),
    ] = None
    flow: FlowOption = None
    lane: LaneOption = None

    def subject(
        self, sites: projects.Sites, *, device_type: str | None = None, firmware: str | None = None
    ) -> Subject:
        """Find what the options say. A project around the flow file, or here, comes first.

        Raises ``BadOptionsError`` where they say nothing, or too much, ``NoRuleError`` where the
        flow has no parser for such a device; else what refuses the flow, or the parser.
        """
        if self.parser is not None:
            if self.flow is not None:
                raise BadOptionsError("--parser and --flow each say which parser: give one of them")
            found = sites.parser(self.parser, projects.project_around(Path()))
            return Subject.bare(found, self.lane)
        path = _only_flow_here() if self.flow is None else self.flow
        flow = flow_at(path)
        rule = parser_rule_for(flow, device_type=device_type, firmware=firmware)
        if rule is None:
            raise NoRuleError(flow.stream, device_type, firmware)
        found = sites.parser(rule.use, projects.project_around(path.parent))
        return Subject.of(flow, rule, found, self.lane)


def project_in(folder: Path) -> projects.Project:
    """The project of a folder that was named; raises ``NoProjectError`` where it is none."""
    project = projects.project_at(folder)
    if not project.parsers:
        raise projects.NoProjectError(folder, "no pyproject.toml that names a parser is here")
    return project


def _only_flow_here() -> Path:
    found = sorted(Path("flows").glob("*.toml"))
    if len(found) != 1:
        here = f"./flows holds {len(found)} flow files"
        raise BadOptionsError(f"say which parser: --parser NAME==V, or --flow FILE ({here})")
    return found[0]
