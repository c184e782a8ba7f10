"""What commands select by: a device, since when, until when, how many days or messages."""

import re
from functools import partial
from typing import Annotated, Final

import typer

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import DEVICE_ID_PATTERN
from fleetlane.events.times import DAY_MS, HOUR_MS, millis_from_rfc3339, now_ms


class BadOptionsError(FleetlaneError):
    """A command's options contradict each other, or do not say enough. Nothing was done."""

    problem: str
    sentence = "{problem}"


_AGO: Final = re.compile(r"([0-9]{1,9})([smhd])")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": HOUR_MS, "d": DAY_MS}


def moment(text: str) -> int:
    """Milliseconds since 1970 of ``2026-11-03T14:05:00Z``, or of so long ago: ``90m``, ``3d``."""
    found = millis_from_rfc3339(text)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        found = now_ms() - int(ago[1]) * _UNIT_MS[ago[2]]
    if found is None or found < 0:
        raise typer.BadParameter(
            f"{text!r} is not a valid time: write 2026-11-03T14:05:00Z, or 90m, 12h or 3d for"
            " so long ago"
        )
    return found


file_argument: Final = partial(typer.Argument, exists=True, dir_okay=False)
file_option: Final = partial(typer.Option, exists=True, dir_okay=False)
folder_argument: Final = partial(typer.Argument, exists=True, file_okay=False, metavar="FOLDER")

WholeDeviceId = Annotated[str, typer.Argument(help=f"Its id: {DEVICE_ID_PATTERN}")]
DeviceId = Annotated[str, typer.Argument(help="The device's id; its beginning is enough.")]
SinceOption = Annotated[
    int | None,
    typer.Option(metavar="WHEN", parser=moment, help="2026-11-03T14:05:00Z; 12h is 12 hours ago."),
]
UntilOption = Annotated[
    int | None, typer.Option(metavar="WHEN", parser=moment, help="The end, itself excluded.")
]
DaysOption = Annotated[int, typer.Option(min=1, max=30, help="The last days, of 24 hours each.")]
LimitOption = Annotated[int, typer.Option(min=1, help="Refuse to handle more messages than this.")]
DryRunOption = Annotated[bool, typer.Option(help="Show what would be done.")]
