"""The part of a document that the command writes, between two markers."""

from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError

BEGIN: Final = "<!-- what `python -m infra.cost` prints: begin -->"
END: Final = "<!-- what `python -m infra.cost` prints: end -->"


class NoMarkersError(FleetlaneError):
    """A document has no place for the tables."""

    reason = "no_markers"
    path: Path

    def __str__(self) -> str:
        return f"{self.path} has no lines {BEGIN!r} and {END!r}, in this order"


def written_between_markers(path: Path) -> str:
    """What is there now.

    Raises:
        NoMarkersError: It has no markers.
    """
    return _parts(path)[1].strip("\n")


def write_between_markers(path: Path, text: str) -> None:
    """Replace what is there.

    Raises:
        NoMarkersError: It has no markers.
    """
    before, _, after = _parts(path)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _parts(path: Path) -> tuple[str, str, str]:
    before, begin, rest = path.read_text().partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end:
        raise NoMarkersError(path)
    return before, between, after
