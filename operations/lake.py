"""A platform's lake and its fleet, opened for questions.

Apart from ``Platform``, for most commands read no table; and what reads tables of AWS Glue's, or
whole ones, is imported where it is needed: it takes seconds.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from clients.lake.view_sql import Engine, create_view
from fleetlane.events.lake.tables import CATALOG, EVENTS, NAMESPACE, RECEIVED
from fleetlane.events.lake.views import LakeView
from operations.fleet.fleet import Fleet, Lake, Rows, name_rows, rows_of
from operations.platform import Platform

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


@contextmanager
def questioned_lake(platform: Platform) -> Iterator[Lake]:
    """The lake as ``rows_of`` reads it; raises as ``lake_of``."""
    if platform.lake_catalog is not None:
        yield _laptop_lake(platform.lake_catalog)
        return
    with lake_of(platform) as catalog:
        yield catalog


@contextmanager
def lake_of(platform: Platform) -> Iterator["Catalog"]:
    """The lake's catalog; raises ``LakeMissingError`` where nothing was written yet."""
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415

    file = platform.lake_catalog
    if file is not None:
        _laptop_lake(file)
    with closing(
        load_catalog(CATALOG, type="glue", database=platform.resources.lake_database)
        if file is None
        else load_catalog(CATALOG, type="sql", uri=f"sqlite:///{file}", init_catalog_tables="false")
    ) as catalog:
        yield catalog


def _laptop_lake(catalog: Path) -> LaptopLake:
    lake = LaptopLake(catalog=catalog)
    if not lake.has_tables():
        raise LakeMissingError(RECEIVED.identifier, str(catalog))
    return lake


@contextmanager
def fleet_of(platform: Platform, *, asked_at_ms: int) -> Iterator[Fleet]:
    """The fleet as of a time; raises as ``rows_of``."""
    registered = platform.registry.all_without_keys()
    with (
        questioned_lake(platform) as lake,
        Fleet(lake, registered, asked_at_ms=asked_at_ms) as fleet,
    ):
        yield fleet


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
