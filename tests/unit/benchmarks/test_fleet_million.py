"""The benchmark of a fleet of a million, with a fleet of hundreds."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.fleet_million import ABOUT_ALL, ABOUT_ONE, Asker, Registry
from benchmarks.fleet_rows import ASKED_AT_MS, DAYS, FleetOfRows
from benchmarks.registry_scan import item_bytes, scan_numbers
from fleetlane.events.lake.tables import DAILY
from operations.fleet import devices, traffic
from operations.fleet.fleet import Fleet

FLEET = FleetOfRows(devices=200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    FLEET.cached_lake(folder).close()
    return folder


@pytest.fixture
def fleet(folder: Path) -> Iterator[Fleet]:
    with closing(FLEET.cached_lake(folder)) as catalog:
        registered = Registry(FLEET.registered_devices())
        with Fleet(catalog, registered, asked_at_ms=ASKED_AT_MS) as fleet:
            yield fleet


def test_the_lake_is_made_once(folder: Path) -> None:
    made = (folder / "catalog.db").stat().st_mtime_ns

    FLEET.cached_lake(folder).close()

    assert (folder / "catalog.db").stat().st_mtime_ns == made


def test_daily_has_about_a_row_a_device_and_day(folder: Path) -> None:
    with closing(FLEET.cached_lake(folder)) as catalog:
        rows = catalog.load_table(DAILY.identifier).scan().to_arrow()

    assert rows.num_rows == pytest.approx(FLEET.devices * DAYS, rel=0.05)


def test_a_days_rows_are_sorted_as_the_table_is(folder: Path) -> None:
    with closing(FLEET.cached_lake(folder)) as catalog:
        rows = catalog.load_table(DAILY.identifier).scan(limit=100).to_arrow()

    ids = rows["device_id"].to_pylist()
    assert (ids, len(ids)) == (sorted(ids), 100)


def test_some_are_silent_some_late_and_some_have_gaps(fleet: Fleet) -> None:
    silent = fleet.ask(devices.SILENT, days=7).rows
    late = fleet.ask(traffic.LATE, days=7).rows
    gaps = fleet.ask(devices.GAPS, days=DAYS).rows

    assert 0 < len(silent) < FLEET.devices // 10
    assert 0 < len(late) < FLEET.devices // 10
    assert gaps


def test_every_question_about_one_device_is_timed(folder: Path) -> None:
    seconds = Asker(fleet=FLEET, folder=folder).about_one()

    assert seconds.keys() == ABOUT_ONE.keys()
    assert min(seconds.values()) > 0


def test_every_question_about_the_fleet_is_timed(folder: Path) -> None:
    seconds = Asker(fleet=FLEET, folder=folder).about_all()

    assert seconds.keys() == {"coverage", *ABOUT_ALL}


def test_a_scan_is_counted_by_dynamodbs_rules_and_read_by_boto3() -> None:
    numbers = scan_numbers(8_000)

    assert numbers["registry_pages"] == pytest.approx(item_bytes() * 1_000_000 / 2**20, rel=0.01)
    assert numbers["registry_read_units"] == pytest.approx(
        item_bytes() * 1_000_000 / 8192, rel=0.01
    )
    assert numbers["registry_read_s"] > 0
