"""``fleetlane status``: how the lanes and queries are."""

import dataclasses
import json
import time
from contextlib import closing, suppress
from typing import Annotated, Final

import typer
from rich.console import Console

from clients.kafka.reader import KafkaUnreadableError
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import table_lines
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.events.times import now_ms
from operations.lanes import status as lanes

_WATCH_EVERY_S: Final = 2.0
_LANES: Final = ("lane", "parsed/s", "parked", "waiting", "oldest waiting")
_QUERIES: Final = ("query", "records behind", "last seen")


def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Again every two seconds, until Ctrl-C.")
    ] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Show each lane's throughput and backlog, and how far behind each query is."""
    resources = where.platform_with_kafka().resources
    positions = lanes.KafkaPositions(resources.kafka_bootstrap_servers, resources.kafka_security)

    with closing(positions):
        if watch:
            watch_status(positions, as_json=as_json, times=times)
        else:
            typer.echo(_shown(positions, times, as_json=as_json))


def watch_status(
    positions: lanes.Positions,
    *,
    as_json: bool,
    times: TimeOptions = EXACT,
    every_s: float = _WATCH_EVERY_S,
) -> None:
    """Show the state, on a terminal in the same place, until Ctrl-C; an outage does not end it."""
    with suppress(KeyboardInterrupt):
        while True:
            try:
                shown = _shown(positions, times, as_json=as_json)
            except KafkaUnreadableError as outage:
                typer.echo(f"error: {outage}", err=True)
            else:
                if not as_json:
                    Console().clear()  # where stdout is a terminal
                typer.echo(shown)
            time.sleep(every_s)


def _shown(positions: lanes.Positions, times: TimeOptions, *, as_json: bool) -> str:
    found = lanes.status_of(positions, now_ms=now_ms())
    return json.dumps(dataclasses.asdict(found)) if as_json else status_text(found, times)


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
