"""``fleetlane parser deploy``: an artifact to where flows find it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.commands.flow.publishing import BucketOption
from fleetlane.cli.options.checkout import use_checkout
from fleetlane.cli.options.data import DataOption, running_endpoints
from fleetlane.events.flows.artifacts import read_manifest

if TYPE_CHECKING:
    from clients.flows.parser_store import ParserStore


def deploy(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.zip", dir_okay=False, exists=True, help="The artifact."),
    ],
    *,
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The owner of the flows it is for.")],
    data: DataOption = None,
    bucket: BucketOption = None,
) -> None:
    """Put an artifact where its owner's flows find it. It never changes there.

    Nothing uses it before a flow that names one of its parsers is published.
    """
    key = _store(data, bucket).deploy(file, owner=owner)
    manifest = read_manifest(file, artifact=str(file))
    typer.echo(f"{key}: flows of {owner} may use {', '.join(manifest.uses)}")


def _store(data: Path | None, bucket: str | None) -> "ParserStore":
    if bucket is None:
        endpoints = running_endpoints(data)
        from operations.flows.publishing import publisher_at

        return publisher_at(endpoints).parsers
    use_checkout()
    from clients.aws import AwsSettings, s3_client
    from clients.flows.parser_store import ParserStore

    return ParserStore(s3_client(AwsSettings()), bucket)
