"""``fleetlane parser test``: checks samples, fuzzes, tests determinism."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.selection import folder_argument
from fleetlane.cli.output.parser_results import enforcement
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.testkit.checking import EXAMPLES, checks
from fleetlane.parsers.testkit.sites import project_at
from fleetlane.parsers.testkit.trials import kept


class ChecksFailedError(FleetlaneError):
    """A parser failed checks, which were printed."""

    reason = "found_wanting"
    failed: str
    sentence = "{failed} failed"


FolderArgument = Annotated[Path, folder_argument(help="The parser's folder.")]
ExamplesOption = Annotated[
    int, typer.Option(min=1, max=1_000_000, help="How many arbitrary messages to try.")
]


def check(
    folder: FolderArgument = Path(),
    *,
    update: Annotated[
        bool, typer.Option(help="Make the samples' present events the expected ones.")
    ] = False,
    examples: ExamplesOption = EXAMPLES,
) -> None:
    """Check a folder's parsers: samples, fuzzing, determinism and limits.

    Samples must give their expected JSON, and the same events in any process. Arbitrary bytes, and
    samples with flipped bits or missing parts, must give events or a malformed message. All within
    the lane's limits.
    """
    project, failed = project_at(folder), 0
    for checked in checks(project, examples=examples, update=update, uv=uv_program()):
        subject = checked.subject
        sentences = list(kept(checked.findings, project.folder))
        failed += len(sentences)
        verdict = number_of(len(sentences), "problem") if sentences else "ok"
        samples = number_of(checked.samples, "sample")
        line = f"{subject.flow.stream}: {subject.identifier}, {samples}: {verdict}"
        typer.echo(f"{line}{enforcement()}")
        for sentence in sentences:
            typer.echo("\n".join(map(escaped, f"  {sentence}".split("\n"))))
    if failed:
        raise ChecksFailedError(number_of(failed, "check"))
