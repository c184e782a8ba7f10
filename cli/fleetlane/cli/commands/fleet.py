"""``fleetlane fleet``: coverage, and which devices are silent, late or malformed; the report."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.selection import DaysOption, DeviceId
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import HOUR_MS, now_ms
from operations.fleet import devices, traffic
from operations.fleet import refusals as refused
from operations.fleet.issues import ISSUES
from operations.fleet.questions import Question
from operations.lake import fleet_of


class UnknownToFleetError(FleetlaneError):
    """Neither the registry nor the lake knows a device."""

    reason = "device_unheard_of"
    device_id: str
    days: int
    sentence = "device {device_id} is not registered, and sent nothing in {days} days"


def coverage(
    *,
    by_day: Annotated[bool, typer.Option(help="Each of the last 30 days too.")] = False,
    by_firmware: Annotated[
        bool, typer.Option(help="By type and firmware, beside the day before.")
    ] = False,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Registered devices that sent something in 1, 2 and 7 days.

    Relayed messages do not prove that the device is alive; they are counted separately.
    """
    with fleet_of(where.platform(), asked_at_ms=now_ms()) as fleet:
        found = [devices.coverage(fleet)]
        if by_day:
            found.insert(0, fleet.ask(devices.COVERAGE_BY_DAY))
        if by_firmware:
            found.insert(0, fleet.ask(devices.COVERAGE_BY_FIRMWARE, days=2))
        formats.show(*found, asked_at_ms=fleet.asked_at_ms)


def silent(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Registered devices that sent nothing themselves, the latest to fall silent first."""
    _show(where, formats, devices.SILENT, days=days)


def late(
    *,
    days: DaysOption = 7,
    over_minutes: Annotated[
        int, typer.Option(min=1, help="The lag from which a message is late.")
    ] = 60,
    share: Annotated[
        float, typer.Option(min=0.01, max=1, help="The share of its messages that must be late.")
    ] = 0.5,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Devices whose messages are often late, and all messages by lag."""
    given = {"over_ms": over_minutes * 60_000, "share_min": share}
    _show(where, formats, traffic.LATE, traffic.LAGS, days=days, **given)


def sizes(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Messages by size, devices with far larger ones, and each stream's compression."""
    asked = (traffic.SIZE_BINS, traffic.SIZES, traffic.OUTSIZED, traffic.COMPRESSION)
    _show(where, formats, *asked, days=days)


def health(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Malformed messages by firmware, and parse time by parser."""
    _show(where, formats, traffic.FIRMWARE, traffic.PARSERS, days=days)


def issues(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Parked messages by problem: since when, of how many devices, by which firmware and parser."""
    _show(where, formats, ISSUES, days=days)


def refusals(
    *,
    hours: Annotated[int, typer.Option(min=1, max=24 * 30, help="So many hours until now.")] = 24,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Messages that were refused: why, of which owner's stream, device type and firmware."""
    platform, asked_at_ms = where.platform(), now_ms()
    counts = platform.refusals(asked_at_ms - hours * HOUR_MS, asked_at_ms)
    found = refused.refusals(counts, platform.publisher.current().by_stream, hours=hours)
    formats.show(found, asked_at_ms=asked_at_ms)


def device(
    device_id: DeviceId, *, days: DaysOption = 30, formats: FormatOptions, where: PlatformOptions
) -> None:
    """What one device sent by day, and the gaps in its data's times."""
    platform = where.platform()
    device_id = platform.devices.named(device_id)
    with fleet_of(platform, asked_at_ms=now_ms(), device_id=device_id) as fleet:
        questions = (devices.DEVICE_DAYS, devices.GAPS, devices.DEVICE)
        found = [fleet.ask(one, days=days, device_id=device_id) for one in questions]
        if not any(table.rows for table in found):
            raise UnknownToFleetError(device_id, days)
        formats.show(*found, asked_at_ms=fleet.asked_at_ms)


def report(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page.")
    ] = Path("fleet-report.html"),
    where: PlatformOptions,
) -> None:
    """Write the fleet report: one HTML page, which loads nothing and needs no script."""
    from operations.report.page import write_report  # noqa: PLC0415 - no other answer needs Jinja

    with fleet_of(where.platform(), asked_at_ms=now_ms()) as fleet:
        write_report(fleet, output)
    typer.echo(f"written to {output}")


def _show(
    where: PlatformOptions, formats: FormatOptions, *questions: Question, days: int, **given: object
) -> None:
    """Ask the fleet of a platform as of now; a question takes what it needs of ``given``."""
    with fleet_of(where.platform(), asked_at_ms=now_ms()) as fleet:
        found = [fleet.ask(one, days=days, **given) for one in questions]
        formats.show(*found, asked_at_ms=fleet.asked_at_ms)
