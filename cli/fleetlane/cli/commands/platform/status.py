"""``fleetlane status``: how the lanes and queries are."""

import dataclasses
import json
from contextlib import closing
from typing import Annotated, Final

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import table_lines
from fleetlane.cli.output.times import EXACT, TimeOptions
from fleetlane.events.times import now_ms
from operations.lanes import status as lanes

_LANES: Final = ("lane", "parsed/s", "parked", "waiting", "oldest waiting")
_QUERIES: Final = ("query", "records behind", "last seen")


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
