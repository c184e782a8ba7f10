"""``fleetlane status|ledger``: how the lanes and queries are, and whether a message is missing."""

import dataclasses
import json
from contextlib import closing
from typing import Annotated, Final

import typer

from fleetlane.cli.options.selection import SinceOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.times import DAY_MS, now_ms, rfc3339
from operations.lanes.status import KafkaPositions, LaneStatus, QueryStatus, Status, status_of
from operations.ledger.standing import standing_ledger
from operations.report.ledger_tables import LEDGER, MISSING_MESSAGES

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


def ledger(*, since: SinceOption = None, formats: FormatOptions, where: PlatformOptions) -> None:
    """Show the standing ledger by hour of arrival, stream and lane, and name missing messages.

    Of the last day, unless told otherwise. The job ``standing_ledger`` writes it once a minute.
    """
    asked_at_ms = now_ms()
    since_ms = asked_at_ms - DAY_MS if since is None else since
    with where.platform().lake() as catalog:
        found = standing_ledger(catalog, since_ms=since_ms)
    formats.show(
        LEDGER.of(found.hours), MISSING_MESSAGES.of(found.missing), asked_at_ms=asked_at_ms
    )
