"""``python -m infra.cost``: what a stage costs, as Markdown on standard output."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from infra.cost.figures import figures_of_files
from infra.cost.scenario import Scenario, usual_traffic
from infra.cost.tables import report
from infra.stages import Engine, settings_of, stage_from

BEGIN: Final = "<!-- what `python -m infra.cost` prints: begin -->"
END: Final = "<!-- what `python -m infra.cost` prints: end -->"


class NoMarkersError(FleetlaneError):
    """A document has no place for the tables."""

    reason = "no_markers"
    path: Path

    def __str__(self) -> str:
        return f"{self.path} has no lines {BEGIN!r} and {END!r}, in this order"


def written_between_markers(path: Path) -> str:
    """What is there now.

    Raises:
        NoMarkersError: It has no markers.
    """
    return _parts(path)[1].strip("\n")


def write_between_markers(path: Path, text: str) -> None:
    """Replace what is there.

    Raises:
        NoMarkersError: It has no markers.
    """
    before, _, after = _parts(path)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _parts(path: Path) -> tuple[str, str, str]:
    before, begin, rest = path.read_text().partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end:
        raise NoMarkersError(path)
    return before, between, after


def main(argv: Sequence[str]) -> int:
    """Print the tables, or put them into a document."""
    asked = _parser().parse_args(argv)
    try:
        text = report(_scenario(asked), figures_of_files())
        if asked.into is None:
            sys.stdout.write(f"{text}\n")
        else:
            write_between_markers(asked.into, text)
    except FleetlaneError as refusal:
        sys.stderr.write(f"error: {refusal}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.cost",
        description="What a stage costs, by public prices and measured figures.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--stage", choices=("dev", "staging", "prod"), default="prod")
    parser.add_argument("--engine", choices=("glue", "emr"), help="instead of the stage's")
    parser.add_argument("--messages-per-day", type=float, default=20_000_000)
    parser.add_argument("--kib", type=float, default=1, help="of a body, in fast and standard")
    parser.add_argument("--bulk-kib", type=float, default=512, help="of a body in bulk and slow")
    parser.add_argument("--authorizer-hits", type=float, default=0.8, help="share by the cache")
    parser.add_argument("--peak", type=float, default=3, help="busiest time over the mean")
    parser.add_argument("--into", type=Path, help="a document, between its markers")
    return parser


def _scenario(asked: argparse.Namespace) -> Scenario:
    stage = stage_from(asked.stage, settings_of(asked.stage))
    if asked.engine is not None:
        stage = replace(stage, engine=Engine(asked.engine))
    return Scenario(
        stage=stage,
        traffic=usual_traffic(
            asked.messages_per_day, body_kib=asked.kib, bulk_body_kib=asked.bulk_kib
        ),
        authorizer_hits=asked.authorizer_hits,
        peak=asked.peak,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
