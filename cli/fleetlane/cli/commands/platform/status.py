"""``fleetlane status`` and ``top``: how the lanes and queries are, once, or again and again."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext, suppress
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import table_lines
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import now_ms
from operations.lanes import status as lanes
from operations.lanes.tally import LaneCounts

_LANES: Final = ("lane", "parsed/s", "parked", "waiting", "oldest waiting")
_QUERIES: Final = ("query", "records behind", "last seen")
_FLOWS: Final = ("stream", "lane", "owner", "parsed/s", "parked/s")
_KEYS: Final = (*_FLOWS[:3], "parsed_per_s", "parked_per_s")


def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Show each lane's throughput and backlog, and how far behind each query is."""
    resources = where.platform_with_kafka().resources
    positions = lanes.KafkaPositions(resources.kafka_bootstrap_servers, resources.kafka_security)
    with closing(positions):
        found = lanes.status_of(positions, now_ms=now_ms())
    typer.echo(json.dumps(dataclasses.asdict(found)) if as_json else status_text(found, times))


def status_text(found: lanes.Status, times: TimeOptions = EXACT) -> str:
    """A table of the lanes, and one of the queries."""
    lane_rows = [_lane_row(lane, times, found.at_ms) for lane in found.lanes]
    queries = [_query_row(query, times, found.at_ms) for query in found.queries]
    lines = table_lines(_LANES, lane_rows, right=_LANES[1:4])
    return "\n".join([*lines, "", *table_lines(_QUERIES, queries, right=_QUERIES[1:2])])


def _lane_row(lane: lanes.LaneStatus, times: TimeOptions, now_ms: int) -> tuple[str, ...]:
    parked = "-" if lane.parked_percent is None else f"{lane.parked_percent:.1f} %"
    oldest = "-" if lane.oldest_arrival_ms is None else times.ago(lane.oldest_arrival_ms, now_ms)
    return lane.lane, f"{lane.parsed_per_s:.1f}", parked, str(lane.waiting), oldest


def _query_row(query: lanes.QueryStatus, times: TimeOptions, now_ms: int) -> tuple[str, ...]:
    seen = "never" if query.seen_ms is None else times.ago(query.seen_ms, now_ms)
    if query.stalled_ms:
        seen = f"stalled for {query.stalled_ms / 1000:.0f} s ({seen})"
    return query.query, str(query.waiting), seen


def top(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON each time.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Show lanes, queries and the busiest flows, again every two seconds until Ctrl-C.

    As many flows as fit the terminal. An outage is shown, and does not end it.
    """
    platform = where.platform_with_kafka()
    kafka = platform.resources
    positions = lanes.KafkaPositions(kafka.kafka_bootstrap_servers, kafka.kafka_security)
    with closing(positions):
        show_top(positions, platform.publisher.current, as_json=as_json, times=times)


def show_top(
    positions: lanes.Positions,
    published: Callable[[], PublishedFlows],
    *,
    as_json: bool,
    times: TimeOptions = EXACT,
    every_s: float = 2.0,
) -> None:
    """On a terminal in the same place, elsewhere one below the other; until Ctrl-C."""
    console, shown = Console(), ""
    is_live = console.is_terminal and not as_json
    live = Live("reading …", console=console, screen=True, auto_refresh=False) if is_live else None
    with suppress(KeyboardInterrupt), live or nullcontext():
        while True:
            problem = ""
            try:
                found = lanes.status_of(positions, now_ms=now_ms())
                shown = _shown(found, published().flows, times, as_json=as_json)
            except FleetlaneError as outage:
                problem = f"error: {outage}"
            if live:  # it cuts off what does not fit
                live.update(Text("\n\n".join(filter(None, (problem, shown)))), refresh=True)
            else:
                typer.echo(problem or shown, err=problem != "")
            time.sleep(every_s)


def _shown(found: lanes.Status, flows: Iterable[Flow], times: TimeOptions, *, as_json: bool) -> str:
    rows = []
    for one in flows:
        parked_per_s = found.streams.get(one.stream, LaneCounts()).parked / found.window_s
        rows.append((one.stream, one.lane, one.owner, found.rates_of(one.stream)[0], parked_per_s))
    rows.sort(key=lambda row: (-row[3] - row[4], row[0]))
    if as_json:
        named = [dict(zip(_KEYS, row, strict=True)) for row in rows]
        return json.dumps(dataclasses.asdict(found) | {"flows": named})
    cells = [(*names, f"{parsed:.1f}", f"{parked:.1f}") for *names, parsed, parked in rows]
    return "\n".join([status_text(found, times), "", *table_lines(_FLOWS, cells, right=_FLOWS[3:])])
