"""``fleetlane flow new|check``: flow files, to begin with and before they are published."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import file_option, folder_argument
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import BadFlowError, flow_from_toml, flows_in
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.names import NAME_PATTERN, checked_name
from fleetlane.parsers.artifacts.writing import unpack
from fleetlane.parsers.testkit.flow_checks import FlowReport, Locate, checked_flows
from fleetlane.parsers.testkit.sites import Sites, project_around


class FlowThereError(FleetlaneError):
    """There is a file of this name."""

    path: Path
    sentence = "{path} already exists"


def new(
    stream: Annotated[str, typer.Argument(help=f"Its name: {NAME_PATTERN}")],
    *,
    parser: Annotated[
        str, typer.Option(metavar="USE", help="A built-in format, or NAME==VERSION.")
    ] = "json",
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The team it belongs to.")] = "my-team",
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("flows"),
) -> None:
    """Create a stream's flow file, with nothing but its parser."""
    path = folder / f"{checked_name(stream, kind='stream')}.toml"
    checked_name(owner, kind="owner")
    text = f'stream = "{stream}"\nowner = "{owner}"\n\n[[parsers]]\nuse = "{parser}"\n'
    flow_from_toml(text, file=str(path))
    if path.exists():
        raise FlowThereError(path)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"created {path}; docs/flows.md lists what else it may have")


def flows_argument(default: str) -> Any:
    """The argument FOLDER; ``default`` says what it is where none is given."""
    return folder_argument(help="The folder of flow files.", show_default=default)


class BadFlowsError(FleetlaneError):
    """Flows have problems, which were printed."""

    reason = "flows_not_right"
    folder: Path
    problems: str
    sentence = "the flows in {folder} have {problems}"


def check(
    folder: Annotated[Path, flows_argument("./flows")] = Path("flows"),
    *,
    artifact: Annotated[
        list[Path] | None,
        file_option(metavar="FILE.zip", help="An artifact with parsers; may be repeated."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="A folder with the earlier flow files: schemas must stay compatible.",
        ),
    ] = None,
) -> None:
    """Check the flow files of a folder, and load their parsers with their options.

    Parsers come from the artifacts that are given, else from the package around the folder, else
    from what is installed here. Exit code 1: a flow has a problem.
    """
    flows, before = flows_of(folder), {} if against is None else flows_in(against)
    with ExitStack() as folders:
        locate = _locate(folder, artifact or [], folders)
        show(checked_flows(flows, folder, locate, before=before.values()), folder)
    typer.echo(f"{folder}: {number_of(len(flows), 'flow')}, no problems")


def flows_of(folder: Path) -> FlowSet:
    """Read the flow files; raises ``BadFlowError`` where there are none, too."""
    flows = flows_in(folder)
    if not flows:
        raise BadFlowError(str(folder), "holds no flow file; `fleetlane flow new STREAM` makes one")
    return flows


def show(report: FlowReport, folder: Path) -> None:
    """Print notes and problems; raises ``BadFlowsError`` where there is a problem."""
    for note in report.notes:
        typer.echo(f"note: {note}")
    for problem in report.problems:
        typer.echo(problem, err=True)
    if report.problems:
        raise BadFlowsError(folder, number_of(len(report.problems), "problem"))


def _locate(folder: Path, artifacts: list[Path], folders: ExitStack) -> Locate:
    sites, project = folders.enter_context(Sites(uv=uv_program())), project_around(folder)
    unpacked = {}
    for path in artifacts:
        site = folders.enter_context(TemporaryDirectory())
        unpacked[site] = unpack(path, Path(site))

    def locate(owner: str, use: str) -> str | None:
        offering = (site for site, manifest in unpacked.items() if manifest.offers(use))
        return next(offering, None) or sites.parser(use, project).location

    return locate
