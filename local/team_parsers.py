"""Parsers of a team's own: wheels, unpacked where only the jobs and their checks find them."""

import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows import FlowSet
from fleetlane.parsers.registry import load_parser


class BadWheelError(FleetlaneError):
    """What was given as a parser is no wheel."""

    reason = "bad_wheel"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path} {self.problem}; allowed: a wheel (.whl), as `uv build --wheel` makes"


def installed_wheels(wheels: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """Unpack wheels into ``folder``, each into one of its own, and give those for ``PYTHONPATH``.

    What was there before goes. A wheel of pure Python is a zip of what is to be on the path; what
    it depends on is not fetched. This process finds the parsers too, to check flows against them.

    Raises:
        BadWheelError: A file is missing, or no wheel.
    """
    shutil.rmtree(folder, ignore_errors=True)
    unpacked = tuple(_unpacked(wheel, folder) for wheel in wheels)
    sys.path.extend(str(path) for path in unpacked)
    return unpacked


def check_parsers(flows: FlowSet) -> None:
    """Load every parser that the flows name, with its options.

    Raises:
        FleetlaneError: One is not installed, broken, or refuses its options.
    """
    for flow in flows.values():
        for rule in flow.parsers:
            load_parser(rule.use, rule.options)


def _unpacked(wheel: Path, folder: Path) -> Path:
    if wheel.suffix != ".whl":
        raise BadWheelError(wheel, "is not named like a wheel")
    target = folder / wheel.stem
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
    except FileNotFoundError:
        raise BadWheelError(wheel, "does not exist") from None
    except zipfile.BadZipFile:
        raise BadWheelError(wheel, "is not a zip file") from None
    return target
