"""A laptop's lake, read without pyiceberg: the same rows as pyiceberg's, whatever was committed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from fleetlane.events.lake.tables import DAILY, EVENTS, PARSED, LakeTable
from local.demo.lake_tables import make_table

DAY = date(2026, 11, 3)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    with closing(folder_catalog(tmp_path / "it's a lake")) as catalog:
        make_table(catalog, EVENTS)
        yield catalog


@pytest.fixture
def lake(tmp_path: Path) -> LaptopLake:
    return LaptopLake(catalog=tmp_path / "it's a lake" / "catalog.db")


def event(number: int, *, stream: str = "gps", day: date = DAY) -> dict[str, object]:
    return {
        "stream": stream, "day": day, "id": f"id-{number}", "raw_id": f"raw-{number}",
        "device_id": "d-1", "arrival_ms": 1_793_714_709_123 + number, "time_quality": "ok",
        "parser": "json", "revision": 0, "data": "{}",
    }  # fmt: skip


def ids(lake: LaptopLake, *, since: date = date.min) -> list[str]:
    query = f"select id from {lake.rows(EVENTS).since(since)} order by id"  # noqa: S608
    return [one for (one,) in duckdb.execute(query).fetchall()]


def test_a_table_without_rows_has_its_columns(catalog: SqlCatalog, lake: LaptopLake) -> None:
    found = duckdb.execute(f"from {lake.rows(EVENTS)}")

    assert [name for name, *_ in found.description or ()] == [*EVENTS.column_names]
    assert found.fetchall() == []


def test_rows_of_all_commits_are_read(catalog: SqlCatalog, lake: LaptopLake) -> None:
    add_rows(catalog, EVENTS, [event(1), event(2, stream="odd/'name'")])
    add_rows(catalog, EVENTS, [event(3)])

    assert ids(lake) == ["id-1", "id-2", "id-3"]


def test_what_was_deleted_or_replaced_is_not_read(catalog: SqlCatalog, lake: LaptopLake) -> None:
    add_rows(catalog, EVENTS, [event(1), event(2)])
    add_rows(catalog, EVENTS, [event(3, stream="thermo")])

    catalog.load_table(EVENTS.identifier).delete("id = 'id-1' or stream = 'thermo'")

    assert ids(lake) == ["id-2"]


def test_files_of_earlier_days_are_left_out(catalog: SqlCatalog, lake: LaptopLake) -> None:
    days = (DAY - timedelta(days=1), DAY, DAY + timedelta(days=1))
    add_rows(catalog, EVENTS, [event(number, day=day) for number, day in enumerate(days)])

    assert ids(lake, since=DAY) == ["id-1", "id-2"]


def test_a_column_that_came_later_is_null_in_older_files(
    catalog: SqlCatalog, lake: LaptopLake
) -> None:
    add_rows(catalog, EVENTS, [event(1)])
    table = catalog.load_table(EVENTS.identifier)
    with table.update_schema(allow_incompatible_changes=True) as changed:
        changed.delete_column("event_ms")
    with table.update_schema() as changed:
        changed.add_column("event_ms", LongType())
    add_rows(catalog, EVENTS, [event(2) | {"event_ms": 5}])

    rows = lake.rows(EVENTS)
    found = duckdb.execute(f"select event_ms from {rows} order by id").fetchall()  # noqa: S608

    assert found == [(None,), (5,)]


@pytest.mark.parametrize("table", [DAILY, PARSED], ids=lambda one: one.name)
def test_a_table_that_no_job_made_is_missing(
    catalog: SqlCatalog, lake: LaptopLake, table: LakeTable
) -> None:
    with pytest.raises(LakeMissingError, match=table.identifier):
        lake.rows(table)


def test_a_lake_that_no_job_made_is_missing(tmp_path: Path) -> None:
    with pytest.raises(LakeMissingError):
        LaptopLake(catalog=tmp_path / "catalog.db").rows(EVENTS)


def test_a_catalog_without_its_tables_is_missing(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "catalog.db").close()

    with pytest.raises(LakeMissingError):
        LaptopLake(catalog=tmp_path / "catalog.db").rows(EVENTS)
