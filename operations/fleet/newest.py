"""A stream's newest events as its view shows them, through DuckDB."""

from collections.abc import Sequence
from contextlib import closing
from datetime import date

import duckdb

from clients.lake.view_sql import Engine, create_view
from fleetlane.events.lake.tables import EVENTS, NAMESPACE
from fleetlane.events.lake.views import LakeView
from operations.fleet.fleet import Lake, Rows, name_rows, rows_of

type ViewRows = Sequence[tuple[object, ...]]
"""Each has a value for each column of the view."""


def newest(lake: Lake, view: LakeView, *, since: date, rows_max: int) -> ViewRows:
    """The newest events of the days from ``since`` on, by arrival, the newest first."""
    events = rows_of(lake, EVENTS, since=since, where=f"stream = '{view.stream}'")
    return newest_of(events, view, since=since, rows_max=rows_max)


def newest_of(events: Rows, view: LakeView, *, since: date, rows_max: int) -> ViewRows:
    """The same of rows of the lake's table, wherever they come from."""
    with closing(duckdb.connect()) as connection:
        name_rows(connection, "rows_of_events", events)
        connection.execute(f"create schema {NAMESPACE}")
        connection.execute(f"create view {EVENTS.identifier} as from rows_of_events")
        connection.execute(create_view(view, Engine.DUCKDB))
        result = connection.execute(
            f"from {NAMESPACE}.{view.name} where day >= $since"
            " order by arrived_at desc, id limit $rows_max",
            {"since": since, "rows_max": rows_max},
        )
        return result.fetchall()
