"""The options ``--stage`` and ``--data``: which platform a command is for."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.near_kafka import is_near_kafka, run_near_kafka
from fleetlane.cli.options.selection import BadOptionsError

if TYPE_CHECKING:  # `parser diff` compares files where no platform is installed
    from clients.aws import AwsSettings
    from operations.flows.publisher import Activates
    from operations.platform import Platform

DataOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        file_okay=False,
        help="The data folder of the platform on this machine.",
        show_default="build/local in the checkout",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformOptions:
    """Which platform a command is for."""

    stage: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A deployed stage, by your AWS credentials.",
            show_default="the platform on this machine",
        ),
    ] = None
    data: DataOption = None

    def platform(self) -> "Platform":
        """The stage that was named, else the platform that runs on this machine.

        Raises:
            BadOptionsError: Both were named.
            PlatformNotRunningError: No stage was named, and no platform runs.
            FleetlaneError: As ``Platform.of_stage``.
        """
        from local.data_folder import endpoints_of  # noqa: PLC0415 - as above
        from operations.platform import Platform  # noqa: PLC0415 - as above

        if self.stage is None:
            return Platform.on_laptop(endpoints_of(self.folder), self.folder, _activation_here)
        if self.data is not None:
            raise BadOptionsError("give --stage or --data, not both")
        return Platform.of_stage(self.stage)

    def platform_with_kafka(self, *, writes: str | None = None) -> "Platform":
        """As ``platform``, for a command that needs Kafka.

        Where the stage has a machine for operators, the whole command runs there, and ends here.
        ``writes`` is an option that was given and has a file written: that cannot be brought back.
        """
        platform = self.platform()
        host = None if is_near_kafka() else platform.operator_host
        if host is None:
            return platform
        if writes is not None:
            raise BadOptionsError(f"{writes} writes a file on {host.instance}, not here")
        raise typer.Exit(run_near_kafka(host, sys.argv[1:], region=platform.resources.region))

    @property
    def folder(self) -> Path:
        return data_folder(self.data)


def data_folder(given: Path | None) -> Path:
    from local.checkout import DATA  # noqa: PLC0415 - as above

    return DATA if given is None else given.absolute()


def _activation_here(aws: "AwsSettings", bootstrap_servers: str) -> "Activates":
    from local.flow_activation import activation_here  # noqa: PLC0415 - one command needs it

    return activation_here(aws, bootstrap_servers)
