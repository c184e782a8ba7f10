"""``fleetlane device import``: many devices from a CSV file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fleetlane.cli.options.selection import file_argument
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.times import now_ms
from operations.devices.bulk_import import BadDeviceFileError, DeviceImport

_PROBLEMS_SHOWN_MAX = 100


def import_devices(
    file: Annotated[
        Path,
        file_argument(
            help="CSV with a header: device_id, device_type, public_key (PEM or JWK), gateway_id."
        ),
    ],
    *,
    where: PlatformOptions,
) -> None:
    """Register the devices of a CSV file: all of them, or none if a line is wrong.

    An interrupted import can be repeated: devices that are registered identically stay as they
    are; one that is registered differently is a problem.
    """
    importing = DeviceImport(file, where.platform().devices.registry, now_ms=now_ms())
    with file.open("rb") as opened:
        lines = sum(1 for _ in opened)
    with _progress("checking", lines) as on_line:
        problems = 0
        for problems, problem in enumerate(importing.problems(on_line), start=1):
            if problems <= _PROBLEMS_SHOWN_MAX:
                typer.echo(problem, err=True)
    if problems:
        raise BadDeviceFileError(file, number_of(problems, "problem"))
    with _progress("registering", lines) as on_line:
        registered, unchanged = importing.register(on_line)
    typer.echo(f"registered {registered}, unchanged {unchanged}")


@contextmanager
def _progress(title: str, lines: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, and nothing elsewhere; stdout is for data."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=lines)
        yield lambda line: progress.update(task, completed=line)
