"""``python -m infra.cost``: what a stage costs, as Markdown on standard output."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import Engine
from fleetlane.events.lanes import Lane
from infra.cost import scenario
from infra.cost.bill import Bill, bill, message_usd, with_http
from infra.stages import Api, settings_of, stage_from


def main(argv: Sequence[str]) -> int:
    try:
        sys.stdout.write(f"{report_of(argv)}\n")
    except FleetlaneError as refusal:
        sys.stderr.write(f"error: {refusal}\n")
        return 1
    return 0


def report_of(argv: Sequence[str]) -> str:
    """The tables of the scenario that the arguments describe."""
    asked = _parser().parse_args(argv)
    at = scenario.Scenario(
        stage=stage_from(asked.stage, settings_of(asked.stage)),
        traffic=scenario.usual_traffic(
            asked.messages_per_day, body_kib=asked.kib, bulk_body_kib=asked.bulk_kib
        ),
        figures=scenario.figures_of_files(),
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


SIZES_KIB: Final = (0.25, 1, 10, 100, 1_000, 4_000)

_ENGINES: Final = {Engine.GLUE: "Glue", Engine.EMR: "EMR Serverless"}

type _Row = Sequence[str | float]


def report(at: scenario.Scenario) -> str:
    month = _table(("component", "fixed", "grows with messages", "together"), _month(bill(at)))
    more = _table(("component", *(f"{kib:,g} KiB" for kib in SIZES_KIB)), _growing(at))
    growing = "A million messages more: what grows, by size of the body"
    return "\n\n".join((_scenario(at), "### A month", month, f"### {growing}", more))


def million_more(at: scenario.Scenario, kib: float) -> Mapping[str, float]:
    """Of standard messages, or of those in the bulk lane where they are too large; disks full."""
    lane = Lane.BULK if kib > scenario.INLINE_KIB_MAX else Lane.STANDARD
    each_usd = message_usd(at.with_body(lane, kib), lane)
    return {component: usd * 1_000_000 for component, usd in each_usd.items()}


def _scenario(at: scenario.Scenario) -> str:
    stage = at.stage
    messages_a_day = sum(one.messages_a_day for one in at.traffic.values())
    lanes = "; ".join(
        f"{lane} {100 * one.messages_a_day / messages_a_day:g}% at {one.body_kib:g} KiB"
        for lane, one in at.traffic.items()
    )
    workers = f"{', '.join(map(str, stage.lane_workers.values()))} and {stage.lake_workers}"
    return (
        f"Stage {stage.name} in {stage.region}: {messages_a_day:,.0f} messages a day ({lanes}), "
        f"the peak {at.peak:g} times the mean, {at.authorizer_hits:.0%} of requests "
        f"answered by the authorizer's cache. {stage.broker_count} brokers {stage.broker_type} "
        f"with {stage.broker_storage_gib:,} GiB each, {workers} workers in the five "
        f"applications, on {_ENGINES[stage.engine]}. In USD."
    )


def _month(month: Bill) -> Iterator[_Row]:
    for component in {**month.growing, **month.fixed}:
        yield component, *month.of(component), sum(month.of(component))
    yield "**all**", sum(month.fixed.values()), sum(month.growing.values()), month.usd


def _growing(at: scenario.Scenario) -> Iterator[_Row]:
    by_size = [million_more(at, kib) for kib in SIZES_KIB]
    for component in by_size[0]:
        yield component, *(column[component] for column in by_size)
    yield "**all**", *(sum(column.values()) for column in by_size)
    by_http = (sum(million_more(with_http(at), kib).values()) for kib in SIZES_KIB)
    yield "**all, with the HTTP API**", *by_http


def _table(head: _Row, rows: Iterable[_Row]) -> str:
    """Text to the left, numbers to the right."""
    cells = [[one if isinstance(one, str) else f"{one + 0.0:,.2f}" for one in row] for row in rows]
    is_number = [all(one[-1].isdigit() for one in column) for column in zip(*cells, strict=True)]
    rule = ["---:" if number else "---" for number in is_number]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, rule, *cells))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
