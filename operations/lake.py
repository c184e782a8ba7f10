"""A platform's lake and its fleet, opened for questions.

Apart from ``Platform``, for most commands read no table; and what reads tables of AWS Glue's, or
whole ones, is imported where it is needed: it takes seconds.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from fleetlane.events.lake.tables import CATALOG, RECEIVED
from operations.fleet.fleet import Fleet, Lake
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
