"""The options that say which parser a command is about, and what they lead to."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.events.flows.files import flow_at
from fleetlane.events.lanes import Lane
from fleetlane.parsers.testkit.sites import (
    NoProjectError,
    Project,
    Sites,
    project_around,
    project_at,
)
from fleetlane.parsers.testkit.subjects import bare_subject, subject_for
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
DeviceTypeOption = Annotated[
    str | None, typer.Option(metavar="TYPE", help="Of the device: the flow chooses by it.")
]
FirmwareOption = Annotated[
    str | None, typer.Option(metavar="V", help="Of the device: the flow chooses by it.")
]


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

    Raises ``BadOptionsError`` where they say nothing, or too much; else what refuses the flow, or
    the parser.
    """
    if parser is not None:
        if flow is not None:
            raise BadOptionsError("--parser and --flow each say which parser: give one of them")
        return bare_subject(sites.parser(parser, project_around(Path())), lane)
    path = _only_flow_here() if flow is None else flow
    return subject_for(
        flow_at(path),
        sites,
        project_around(path.parent),
        device_type=device_type,
        firmware=firmware,
        lane=lane,
    )


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
