"""``fleetlane parser test``: samples, then the contract."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.output.outcome_text import enforcement
from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.testkit.checking import checks
from fleetlane.parsers.testkit.findings import kept
from fleetlane.parsers.testkit.projects import project_at


class FoundWantingError(FleetlaneError):
    """A parser broke its contract; what it did was printed."""

    reason = "found_wanting"
    findings: int
    sentence = "{findings} of what a parser must hold to do not hold"


def check(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", file_okay=False, exists=True, help="The parser's.")
    ] = Path(),
    *,
    update: Annotated[
        bool, typer.Option("--update", help="Write what the samples give now as expected.")
    ] = False,
    examples: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How many arbitrary messages to try.")
    ] = 200,
) -> None:
    """Hold a folder's parsers to their samples, and to the contract of every parser.

    Samples against their expected JSON; the same events in any process; any bytes, and samples
    with bits flipped and parts lost, give events or a malformed message; all within the limits.
    """
    project, findings = project_at(folder), 0
    for checked in checks(project, examples=examples, update=update, uv=uv_program()):
        subject = checked.subject
        sentences = list(kept(checked.findings, project.folder))
        findings += len(sentences)
        verdict = f"{len(sentences)} findings" if sentences else "ok"
        told = f"{subject.flow.stream}: {subject.identifier}, {checked.samples} samples: {verdict}"
        typer.echo(f"{told}{enforcement()}")
        for sentence in sentences:
            typer.echo(f"  {sentence}")
    if findings:
        raise FoundWantingError(findings)
