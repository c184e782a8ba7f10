"""The fleet to ask: of the platform on this machine, or of a stage in AWS."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog

from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import CATALOG, RECEIVED
from operations.fleet.fleet import Fleet
from operations.fleet.tables import LakeMissingError


@contextmanager
def asked_fleet(
    registered: Iterable[RegisteredDevice], *, catalog_file: Path | None, asked_at_ms: int
) -> Iterator[Fleet]:
    """Open the lake of a catalog in a file; without one, that of AWS Glue's Data Catalog.

    Raises:
        LakeMissingError: There is no such file, or no table of the lake in it.
        RowsDeletedBesideError: A table cannot be read as it lies.
    """
    with (
        closing(opened_catalog(catalog_file)) as catalog,
        Fleet.of(catalog, registered, asked_at_ms=asked_at_ms) as fleet,
    ):
        yield fleet


def opened_catalog(file: Path | None) -> Catalog:
    """Open a catalog in a file; without one, AWS Glue's Data Catalog. The caller closes it.

    Raises:
        LakeMissingError: There is no such file.
    """
    if file is None:
        return load_catalog(CATALOG, type="glue")
    if not file.is_file():
        raise LakeMissingError(RECEIVED.identifier, str(file))
    return SqlCatalog(CATALOG, uri=f"sqlite:///{file}", init_catalog_tables="false")
