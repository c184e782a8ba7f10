"""A platform's lake and its fleet, opened for questions.

Apart from ``Platform``: what reads tables takes seconds to import, and most commands read none.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog

from clients.aws import s3_client
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.lake.tables import CATALOG, RECEIVED
from operations.fleet.fleet import Fleet
from operations.fleet.tables import LakeMissingError
from operations.platform import Platform
from operations.replay.archive import ArchivedPayloads


@contextmanager
def lake_of(platform: Platform) -> Iterator[Catalog]:
    """The lake's catalog; raises ``LakeMissingError`` where nothing was written yet."""
    file = platform.lake_catalog
    if file is not None and not _has_tables(file):
        raise LakeMissingError(RECEIVED.identifier, str(file))
    with closing(
        load_catalog(CATALOG, type="glue", database=platform.resources.lake_database)
        if file is None
        else load_catalog(CATALOG, type="sql", uri=f"sqlite:///{file}", init_catalog_tables="false")
    ) as catalog:
        yield catalog


def _has_tables(file: Path) -> bool:
    """Whether a laptop's catalog is there whole: Spark makes its file first, then its tables."""
    if not file.is_file():
        return False
    named = "SELECT 1 FROM sqlite_master WHERE name = 'iceberg_tables'"
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
        return database.execute(named).fetchone() is not None


@contextmanager
def fleet_of(platform: Platform, *, asked_at_ms: int) -> Iterator[Fleet]:
    """The fleet as of a time; raises as ``lake_of`` and ``planned_table``."""
    registered = platform.devices.administration.all()
    with lake_of(platform) as catalog, Fleet(catalog, registered, asked_at_ms=asked_at_ms) as fleet:
        yield fleet


def archived_payloads_of(platform: Platform) -> ArchivedPayloads:
    """Bodies by reference, where they were or in the lake's archive."""
    archived = PayloadBucket(s3_client(platform.aws), platform.resources.lake_bucket)
    return ArchivedPayloads(stored=platform.messages.payloads, archived=archived)
