"""``fleetlane status``: how the lanes and queries are."""

import dataclasses
import json
from contextlib import closing
from typing import Annotated, Final

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.times import now_ms, rfc3339
from operations.lanes.status import KafkaPositions, LaneStatus, QueryStatus, Status, status_of

_LANES: Final = "{:<10}{:>10}{:>9}{:>10}  {}"
_QUERIES: Final = "{:<24}{:>15}  {}"


def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
    where: PlatformOptions,
) -> None:
    """Show each lane's throughput and backlog, and how far behind each query is."""
    resources = where.platform().resources
    positions = KafkaPositions(resources.kafka_bootstrap_servers, resources.kafka_security)

    with closing(positions):
        found = status_of(positions, now_ms=now_ms())
    typer.echo(json.dumps(dataclasses.asdict(found)) if as_json else status_text(found))


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
