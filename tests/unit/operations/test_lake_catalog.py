"""A laptop's lake is missing until Spark has made all of its catalog."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events.lake.tables import LEDGER
from operations.endpoints import LAKE_CATALOG, localstack_at
from operations.fleet.tables import table_of
from operations.lake import lake_of
from operations.platform import Platform, StageUnavailableError
from tests.unit.cli.test_parked_commands import NOWHERE


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    return Platform.on_laptop(NOWHERE, tmp_path)


def test_a_lake_without_a_catalog_is_missing(platform: Platform) -> None:
    with pytest.raises(LakeMissingError), lake_of(platform):
        pass


def test_a_lake_whose_catalog_has_no_tables_yet_is_missing(
    platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / LAKE_CATALOG).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(tmp_path / LAKE_CATALOG)) as database:
        database.execute("CREATE TABLE other (one INTEGER)")

    with pytest.raises(LakeMissingError), lake_of(platform):
        pass


def test_a_lake_whose_catalog_has_its_tables_is_opened(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / LAKE_CATALOG).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(tmp_path / LAKE_CATALOG)) as database:
        database.execute("CREATE TABLE iceberg_tables (table_name TEXT)")

    with lake_of(platform) as catalog:
        assert catalog.name


def test_a_catalog_that_does_not_answer_is_named() -> None:
    stage = Platform(resources=NOWHERE.resources, aws=localstack_at("http://127.0.0.1:9"))

    with pytest.raises(StageUnavailableError, match="connect to"), lake_of(stage) as catalog:
        table_of(catalog, LEDGER)
