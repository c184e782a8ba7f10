"""``fleetlane parser build|deploy``: the one file that jobs fetch, made and stored."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from fleetlane.cli.commands.parser.subject import project_in
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import file_argument, folder_argument
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.flows.artifacts import read_manifest, sha256_of_file
from fleetlane.parsers.artifacts.building import Platform, built, uv_for
from fleetlane.parsers.artifacts.writing import write_artifact

_MACHINES: Final = {"x86_64": Platform.X86_64, "aarch64": Platform.ARM64, "host": Platform.HOST}


def build(
    folder: Annotated[Path, folder_argument(help="The parser's.")] = Path(),
    *,
    output: Annotated[Path, typer.Option(metavar="DIR", file_okay=False, help="Where to.")] = Path(
        "dist"
    ),
    machine: Annotated[
        Literal["x86_64", "aarch64", "host"],
        typer.Option(
            "--platform",
            help="Where compiled dependencies are to run: Glue is x86_64, this machine is host.",
        ),
    ] = "x86_64",
) -> None:
    """Build NAME-VERSION.zip: the wheel, and the dependencies that uv.lock names.

    The same files give the same bytes. What the jobs have already is left out.
    """
    project = project_in(folder)
    result = built(uv_for(project.folder, uv_program()), _MACHINES[machine])
    path = write_artifact(output, result.package, result.contents)
    manifest = read_manifest(path, artifact=path.name)
    typer.echo(f"{path}: {path.stat().st_size} bytes, sha256 {sha256_of_file(path)}")
    typer.echo(f"offers {', '.join(manifest.uses)}; runs on {manifest.platform}")
    if result.left_out:
        typer.echo(f"left out, as the jobs bring their own: {', '.join(result.left_out)}")


def deploy(
    file: Annotated[Path, file_argument(metavar="FILE.zip", help="The artifact.")],
    *,
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The owner of the flows it is for.")],
    where: PlatformOptions,
) -> None:
    """Put an artifact where its owner's flows find it. It never changes there.

    Nothing uses it before a flow that names one of its parsers is published.
    """
    deployed = where.platform().publisher.parsers.deploy(file, owner=owner)
    manifest = read_manifest(file, artifact=str(file))
    unchanged = "" if deployed.is_new else "unchanged; "
    typer.echo(f"{deployed.key}: {unchanged}flows of {owner} may use {', '.join(manifest.uses)}")
