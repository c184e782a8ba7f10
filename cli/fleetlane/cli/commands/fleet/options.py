"""The options that ``fleetlane fleet`` commands share, and the fleet that they mean."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.options.checkout import use_checkout
from fleetlane.cli.options.data import data_folder, running_endpoints
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from clients.devices.registry import RegisteredDevice
    from operations.fleet.fleet import Fleet

DaysOption = Annotated[
    int, typer.Option(min=1, max=30, help="Of how many days, each 24 hours, up to now.")
]
TableOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="A stage's registry table; the lake is then that of AWS Glue."
    ),
]
CatalogOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", dir_okay=False, help="The lake's catalog, where it is another SQLite file."
    ),
]


class DeviceUnheardOfError(FleetlaneError):
    """Neither the registry nor the lake knows a device."""

    reason = "device_unheard_of"
    device_id: str
    days: int
    sentence = "device {device_id} is not registered, nor heard in {days} days"


@contextmanager
def fleet_asked(*, table: str | None, catalog: Path | None, data: Path | None) -> "Iterator[Fleet]":
    """Ask about a stage's fleet, or that of the platform that runs here, as of now.

    Raises:
        PlatformNotRunningError: No stage was named, and no platform runs.
        RegistryUnavailableError: The registry does not answer.
        LakeMissingError: Nothing was written to the lake yet.
    """
    devices = _registry(table, data)
    from operations.fleet.questions import LAKE_CATALOG, asked_fleet

    in_data = None if table is not None else data_folder(data) / LAKE_CATALOG
    with asked_fleet(
        devices, catalog_file=catalog or in_data, asked_at_ms=int(time.time() * 1000)
    ) as fleet:
        yield fleet


def _registry(table: str | None, data: Path | None) -> "Iterator[RegisteredDevice]":
    use_checkout()
    if table is None:
        from operations.devices.stores import DeviceStores

        return DeviceStores.of_platform(running_endpoints(data)).administration.all()
    from clients.aws import AwsSettings, dynamodb_table
    from operations.devices.administration import DeviceAdministration

    return DeviceAdministration(dynamodb_table(AwsSettings(), table)).all()
