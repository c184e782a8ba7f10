"""A platform's lake and its fleet, opened for questions.

Apart from ``Platform``, for most commands read no table; and what reads tables of AWS Glue's, or
whole ones, is imported where it is needed: it takes seconds.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duckdb import DuckDBPyConnection

from clients.aws import asking, aws_client
from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from clients.lake.view_sql import Engine, create_view
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake import tables
from fleetlane.events.lake.queries import queries
from fleetlane.events.lake.views import LakeView
from fleetlane.events.times import DAY_MS, day_of
from operations.fleet.fleet import Fleet, Lake, connection_to, rows_of
from operations.fleet.questions import Table, question
from operations.platform import Platform, StageUnavailableError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

MESSAGE_ROWS: Final = question(
    "message_rows", queries("operations.fleet", "message_rows.sql")["message_rows"]
)
"""The lake's tables that have rows of one message."""


def questioned_lake(platform: Platform) -> AbstractContextManager[Lake]:
    """The lake as ``rows_of`` reads it; raises as ``lake_of``."""
    file = platform.lake_catalog
    return lake_of(platform) if file is None else nullcontext(_laptop_lake(file))


@contextmanager
def lake_of(platform: Platform) -> Iterator["Catalog"]:
    """The lake's catalog; raises ``LakeMissingError`` or, in use too, ``StageUnavailableError``."""
    file, resources = platform.lake_catalog, platform.resources
    if file is None:
        from pyiceberg.catalog.glue import GlueCatalog  # noqa: PLC0415

        glue = aws_client("glue", platform.aws)
        catalog: Catalog = GlueCatalog(tables.CATALOG, glue, database=resources.lake_database)
    else:
        from pyiceberg.catalog import load_catalog  # noqa: PLC0415

        _laptop_lake(file)
        uri = f"sqlite:///{file}"
        catalog = load_catalog(tables.CATALOG, type="sql", uri=uri, init_catalog_tables="false")
    with asking(StageUnavailableError, resources.stage), closing(catalog):
        yield catalog


def _laptop_lake(catalog: Path) -> LaptopLake:
    lake = LaptopLake(catalog=catalog)
    if not lake.has_tables():
        raise LakeMissingError(tables.RECEIVED.identifier, str(catalog))
    return lake


@contextmanager
def fleet_of(
    platform: Platform, *, asked_at_ms: int, device_id: str | None = None
) -> Iterator[Fleet]:
    """The fleet as of a time, or one device of its registry; raises as ``rows_of``."""
    whole, one = platform.registry.all_without_keys, platform.registry.find_all
    registered = whole() if device_id is None else one([device_id]).values()
    with (
        questioned_lake(platform) as lake,
        Fleet(lake, registered, asked_at_ms=asked_at_ms) as fleet,
    ):
        yield fleet


def conformance_of(
    platform: Platform, flow: Flow, *, asked_at_ms: int, days: int, sample: int
) -> Table:
    """A sample of a flow's events of some days beside its schema; raises as ``rows_of``."""
    from operations.fleet.conformance import conformance  # noqa: PLC0415 - of no other question

    since = day_of(asked_at_ms - days * DAY_MS)
    with questioned_lake(platform) as lake, closing(connection_to(lake)) as connection:
        events = rows_of(lake, tables.EVENTS, since=since, where=f"stream = '{flow.stream}'")
        connection.execute(f"create view stored_events as from {events}")
        received = rows_of(lake, tables.RECEIVED, since=since)
        connection.execute(f"create view received as from {received}")
        sql = queries("operations.fleet", "conformance.sql", sample=sample)["sampled"]
        sampled = connection.execute(sql, {"since": since, "stream": flow.stream})
        return conformance(flow.schema or {}, sampled.fetchall())


def message_rows(platform: Platform, raw_id: str, *, asked_at_ms: int, days: int) -> Table:
    """What the lake has of a message that arrived in these days; raises as ``rows_of``."""
    since_ms = asked_at_ms - days * DAY_MS
    of_message = f"raw_id = '{raw_id}' and arrival_ms >= {since_ms}"
    with questioned_lake(platform) as lake, closing(connection_to(lake)) as connection:
        for table in (tables.RECEIVED, tables.PARSED, tables.PARKED, tables.EVENTS, tables.REPEATS):
            since, where = day_of(since_ms), f"id = '{raw_id}'"
            if table in (tables.EVENTS, tables.REPEATS):  # which lie by their events' own days
                since, where = date.min, of_message
            rows = rows_of(lake, table, since=since, where=where)
            connection.execute(f"create view stored_{table.name} as from {rows}")
        return MESSAGE_ROWS.asked(connection, {"raw_id": raw_id}, days=days)


type ViewRows = Sequence[tuple[object, ...]]
"""Each has a value for each column of the view."""


def newest_of(
    connection: DuckDBPyConnection, view: LakeView, *, since: date, rows_max: int
) -> ViewRows:
    """The newest ``stored_events`` of the days from ``since`` on, by arrival, the newest first."""
    connection.execute(f"create schema {tables.NAMESPACE}")
    connection.execute(f"create view {tables.EVENTS.identifier} as from stored_events")
    connection.execute(create_view(view, Engine.DUCKDB))
    result = connection.execute(
        f"from {tables.NAMESPACE}.{view.name} where day >= $since"
        " order by arrived_at desc, id limit $rows_max",
        {"since": since, "rows_max": rows_max},
    )
    return result.fetchall()
