"""The demonstration's past: three stories in the report, and nothing in what counts messages."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from clients.devices.registry import RegisteredDevice
from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events.lake.tables import CATALOG, MADE_UP, PARSED, PROPERTIES, RECEIVED, LakeTable
from local.demo.history import write_history
from local.spark.jobs import LocalLake
from operations.fleet import devices, traffic
from operations.fleet.fleet import QUERIED, Fleet
from operations.fleet.tables import table_of
from operations.ledger.message_results import LakeEvidence
from operations.ledger.standing import standing_ledger

NOW_MS = 1_794_000_000_000
"""21:20 UTC."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LocalLake:
    return LocalLake(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def registered(lake: LocalLake) -> tuple[RegisteredDevice, ...]:
    return write_history(lake, now_ms=NOW_MS)


@pytest.fixture(scope="module")
def catalog(lake: LocalLake, registered: tuple[RegisteredDevice, ...]) -> Iterator[Catalog]:
    assert registered
    with closing(SqlCatalog(CATALOG, uri=f"sqlite:///{lake.catalog_path}")) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def fleet(catalog: Catalog, registered: tuple[RegisteredDevice, ...]) -> Iterator[Fleet]:
    with Fleet(catalog, registered, asked_at_ms=NOW_MS) as fleet:
        yield fleet


def test_thirty_days_have_devices_that_report(fleet: Fleet) -> None:
    days = fleet.ask(devices.COVERAGE_BY_DAY).rows

    assert len(days) == 31
    assert min(day["reported"] for day in days) > 500


def test_a_site_is_silent(fleet: Fleet) -> None:
    silent = [one["device_id"] for one in fleet.ask(devices.SILENT, days=7).rows]

    of_site = sum(one.startswith("oulu-") for one in silent)
    assert of_site == 160
    assert len(silent) < 200


def test_a_firmware_is_bad(fleet: Fleet) -> None:
    worst, *others = fleet.ask(traffic.FIRMWARE, days=7).rows

    assert worst["firmware"] == "2.2.0"
    assert worst["malformed_share"] > 0.15
    assert max(one["malformed_share"] for one in others) < 0.005


def test_a_gateways_devices_are_late(fleet: Fleet) -> None:
    late = [one["device_id"] for one in fleet.ask(traffic.LATE, days=7).rows]

    assert late
    assert all(one.startswith("lisbon-") for one in late)


def test_a_day_adds_up_to_its_messages(fleet: Fleet) -> None:
    sums = "select sum(messages), sum(parsed + parked), sum(malformed) from daily"
    rows = "select count(*), count(*), count(reason) from received join parsed using (id)"

    assert fleet._executed(sums, {}).fetchall() == fleet._executed(rows, {}).fetchall()


@pytest.mark.parametrize("table", [RECEIVED, PARSED], ids=lambda table: table.name)
def test_each_row_is_marked_as_made_up(catalog: Catalog, table: LakeTable) -> None:
    rows = table_of(catalog, table).scan(selected_fields=("source_topic",)).to_arrow()

    assert set(rows.column("source_topic").unique().to_pylist()) == {MADE_UP}


def test_none_of_it_has_an_outcome_that_the_demonstration_waits_for(fleet: Fleet) -> None:
    assert fleet.final_outcomes() == 0


def test_it_is_in_no_ledger(catalog: Catalog) -> None:
    with pytest.raises(LakeMissingError):
        LakeEvidence.read(catalog)
    with pytest.raises(LakeMissingError):
        standing_ledger(catalog, since_ms=0)


def test_its_devices_cannot_send(registered: tuple[RegisteredDevice, ...]) -> None:
    assert {one.keys for one in registered} == {()}


def test_its_tables_are_as_the_lakes_job_makes_them(catalog: Catalog, lake: LocalLake) -> None:
    for table in QUERIED:
        made = catalog.load_table(table.identifier)

        assert made.location() == f"{lake.warehouse}/{table.identifier.replace('.', '/')}"
        assert made.properties == {
            name: value for name, value in PROPERTIES.items() if name != "format-version"
        }
        assert (made.format_version, made.metadata.format_version) == (2, 2)
        assert [column.name for column in made.schema().fields] == list(table.column_names)
        assert [field.name for field in made.spec().fields] == ["day"]
