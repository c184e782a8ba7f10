"""The addresses of a running platform, and the file that tells other commands of them."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fleetlane.events.errors import FleetlaneError


class PlatformNotRunningError(FleetlaneError):
    """No platform runs on a data folder."""

    reason = "platform_not_running"
    folder: Path
    sentence = "no platform runs on {folder}: start it with ./fleetlane up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a running platform answers: ``kafka`` as ``host:port``, the others as URLs."""

    api: str
    kafka: str
    s3: str
    dynamodb: str
    region: str

    def write(self, path: Path) -> None:
        """Write the file at once whole: a reader never sees half of it."""
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n")
        beside.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``write`` wrote.

        Raises:
            PlatformNotRunningError: There is no such file, or something else wrote it.
        """
        try:
            return cls(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            raise PlatformNotRunningError(path.parent) from None
