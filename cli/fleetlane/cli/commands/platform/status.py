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
from fleetlane.events.times import now_ms, rfc3339
from operations.lanes.status import (
    KafkaPositions,
    LaneStatus,
    Positions,
    QueryStatus,
    Status,
    status_of,
)

_WATCH_EVERY_S: Final = 2.0
_LANES: Final = "{:<10}{:>10}{:>9}{:>10}  {}"
_QUERIES: Final = "{:<24}{:>15}  {}"


def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Again every two seconds, until Ctrl-C.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Show each lane's throughput and backlog, and how far behind each query is."""
    resources = where.platform().resources
    positions = KafkaPositions(resources.kafka_bootstrap_servers, resources.kafka_security)

    with closing(positions):
        if watch:
            watch_status(positions, as_json=as_json)
        else:
            typer.echo(_shown(positions, as_json=as_json))


def watch_status(positions: Positions, *, as_json: bool, every_s: float = _WATCH_EVERY_S) -> None:
    """Show the state, on a terminal in the same place, until Ctrl-C; an outage does not end it."""
    with suppress(KeyboardInterrupt):
        while True:
            try:
                shown = _shown(positions, as_json=as_json)
            except KafkaUnreadableError as outage:
                typer.echo(f"error: {outage}", err=True)
            else:
                if not as_json:
                    Console().clear()  # where stdout is a terminal
                typer.echo(shown)
            time.sleep(every_s)


def _shown(positions: Positions, *, as_json: bool) -> str:
    found = status_of(positions, now_ms=now_ms())
    return json.dumps(dataclasses.asdict(found)) if as_json else status_text(found)


def status_text(found: Status) -> str:
    """A line a lane, and a line a query."""
    lines = [_LANES.format("lane", "parsed/s", "parked", "waiting", "oldest waiting")]
    lines += [_lane_line(lane, found.at_ms) for lane in found.lanes]
    lines += ["", _QUERIES.format("query", "records behind", "last seen")]
    lines += [_query_line(query, found.at_ms) for query in found.queries]
    return "\n".join(lines)


def _lane_line(lane: LaneStatus, now_ms: int) -> str:
    parked = "-" if lane.parked_percent is None else f"{lane.parked_percent:.1f} %"
    oldest = "-" if lane.oldest_arrival_ms is None else _when(lane.oldest_arrival_ms, now_ms)
    return _LANES.format(lane.lane, f"{lane.parsed_per_s:.1f}", parked, lane.waiting, oldest)


def _query_line(query: QueryStatus, now_ms: int) -> str:
    seen = "never" if query.seen_ms is None else _when(query.seen_ms, now_ms)
    if query.stalled_ms:
        seen = f"stalled for {query.stalled_ms / 1000:.0f} s ({seen})"
    return _QUERIES.format(query.query, query.waiting, seen)


def _when(time_ms: int, now_ms: int) -> str:
    return f"{rfc3339(time_ms)}, {max(0, now_ms - time_ms) / 1000:.0f} s ago"
