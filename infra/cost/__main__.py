"""``python -m infra.cost``: what a stage costs, as Markdown on standard output."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fleetlane.events.errors import FleetlaneError
from infra.cost.document import write_between_markers
from infra.cost.figures import figures_of_files
from infra.cost.scenario import Scenario, usual_traffic
from infra.cost.tables import report
from infra.stages import Engine, settings_of, stage_from


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
    parser.add_argument("--slow-kib", type=float, default=512, help="of a body in the slow lane")
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
            asked.messages_per_day, body_kib=asked.kib, slow_body_kib=asked.slow_kib
        ),
        authorizer_hits=asked.authorizer_hits,
        peak=asked.peak,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
