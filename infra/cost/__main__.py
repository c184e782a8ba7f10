"""``python -m infra.cost``: what a stage costs, as Markdown on standard output."""

import argparse
import sys
from collections.abc import Sequence

from fleetlane.events.errors import FleetlaneError
from infra.cost.bill import with_http
from infra.cost.scenario import Scenario, figures_of_files, usual_traffic
from infra.cost.tables import report
from infra.stages import Api, Engine, settings_of, stage_from


def main(argv: Sequence[str]) -> int:
    """Print the tables."""
    try:
        sys.stdout.write(f"{report_of(argv)}\n")
    except FleetlaneError as refusal:
        sys.stderr.write(f"error: {refusal}\n")
        return 1
    return 0


def report_of(argv: Sequence[str]) -> str:
    """The tables of the scenario that the arguments describe."""
    asked = _parser().parse_args(argv)
    at = Scenario(
        stage=stage_from(asked.stage, settings_of(asked.stage)),
        traffic=usual_traffic(
            asked.messages_per_day, body_kib=asked.kib, bulk_body_kib=asked.bulk_kib
        ),
        figures=figures_of_files(),
        authorizer_hits=asked.authorizer_hits,
        peak=asked.peak,
    )
    if asked.engine is not None:
        at = at.on(engine=Engine(asked.engine))
    return report(with_http(at) if asked.api == Api.HTTP else at)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.cost",
        description="What a stage costs, by public prices and measured figures.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--stage", choices=("dev", "staging", "prod"), default="prod")
    parser.add_argument("--engine", choices=("glue", "emr"), help="instead of the stage's")
    parser.add_argument("--api", choices=("rest", "http"), help="instead of the stage's")
    parser.add_argument("--messages-per-day", type=float, default=20_000_000)
    parser.add_argument("--kib", type=float, default=1, help="of a body, in fast and standard")
    parser.add_argument("--bulk-kib", type=float, default=512, help="of a body in bulk and slow")
    parser.add_argument("--authorizer-hits", type=float, default=0.8, help="share by the cache")
    parser.add_argument("--peak", type=float, default=3, help="busiest time over the mean")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
