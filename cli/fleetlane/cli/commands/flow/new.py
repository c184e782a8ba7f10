"""``fleetlane flow new``: a flow file to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.names import NAME_PATTERN, checked_name


class FlowThereError(FleetlaneError):
    """There is a file of this name."""

    reason = "flow_there"
    path: Path
    sentence = "{path} is there already"


def new(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help=f"Its name: {NAME_PATTERN}")],
    *,
    parser: Annotated[
        str, typer.Option(metavar="USE", help="A built-in format, or NAME==VERSION.")
    ] = "json",
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The team it belongs to.")] = "my-team",
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("flows"),
) -> None:
    """Make the flow file of a stream: it takes it, parses it, and says no more."""
    path = folder / f"{checked_name(stream, kind='stream')}.toml"
    checked_name(owner, kind="owner")
    text = f'stream = "{stream}"\nowner = "{owner}"\n\n[[parsers]]\nuse = "{parser}"\n'
    flow_from_toml(text, file=str(path))
    if path.exists():
        raise FlowThereError(path)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"made {path}; docs/flows.md says what else it may hold")
