"""The options that say which parser a command is about, and what they lead to."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import parser_rule_for
from fleetlane.events.flows.files import flow_at
from fleetlane.events.lanes import Lane
from fleetlane.parsers.testkit.sites import (
    NoProjectError,
    Project,
    Sites,
    project_around,
    project_at,
)
from fleetlane.parsers.testkit.subjects import bare_subject, subject_of
from fleetlane.parsers.testkit.trials import Subject

ParserOption = Annotated[
    str | None,
    typer.Option(
        "--parser",
        metavar="NAME==V",
        help="The parser, with its default options; a built-in format goes by its name alone.",
    ),
]
FlowOption = Annotated[
    Path | None,
    typer.Option(
        "--flow",
        metavar="FILE",
        dir_okay=False,
        exists=True,
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


def chosen_subject(
    sites: Sites,
    *,
    parser: str | None,
    flow: Path | None,
    device_type: str | None = None,
    firmware: str | None = None,
    lane: Lane | None = None,
) -> Subject:
    """Find what the options say. A project around the flow file, or here, comes first.

    Raises ``BadOptionsError`` where they say nothing, or too much, ``NoRuleError`` where the flow
    has no parser for such a device; else what refuses the flow, or the parser.
    """
    if parser is not None:
        if flow is not None:
            raise BadOptionsError("--parser and --flow each say which parser: give one of them")
        return bare_subject(sites.parser(parser, project_around(Path())), lane)
    path = _only_flow_here() if flow is None else flow
    found = flow_at(path)
    rule = parser_rule_for(found, device_type=device_type, firmware=firmware)
    if rule is None:
        raise NoRuleError(found.stream, device_type, firmware)
    return subject_of(found, rule, sites.parser(rule.use, project_around(path.parent)), lane)


def project_in(folder: Path) -> Project:
    """The project of a folder that was named; raises ``NoProjectError`` where it is none."""
    project = project_at(folder)
    if not project.parsers:
        raise NoProjectError(folder, "no pyproject.toml that names a parser is here")
    return project


def _only_flow_here() -> Path:
    found = sorted(Path("flows").glob("*.toml"))
    if len(found) != 1:
        here = f"./flows holds {len(found)} flow files"
        raise BadOptionsError(f"say which parser: --parser NAME==V, or --flow FILE ({here})")
    return found[0]
