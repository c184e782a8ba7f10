"""Where the stage ``local`` answers: the LocalStack that ``make local-cloud`` runs."""

from pathlib import Path
from typing import Final, Self

import msgspec

from fleetlane.events.errors import FleetlaneError

LOCAL_STAGE: Final = "local"
ENDPOINT_FILE: Final = Path(__file__).parents[1] / "build" / "local-cloud" / "endpoint.json"


class LocalStageNotRunningError(FleetlaneError):
    """No deployed local stage is left running on this machine."""

    reason = "local_stage_not_running"
    path: Path
    sentence = "stage local does not run on this machine: start it with make local-cloud KEEP=1"


class LocalStage(msgspec.Struct, frozen=True, kw_only=True):
    """The address of LocalStack, and what its deploy cannot know.

    ``api_url`` is where ``/v1/…`` is, on LocalStack's own address. ``lake_catalog`` is the SQLite
    file with the lake's catalog, for there is no Glue.
    """

    endpoint_url: str
    region: str
    api_url: str
    lake_catalog: str | None = None

    def write(self, path: Path = ENDPOINT_FILE) -> None:
        """Write the file at once whole: a reader never sees half of it."""
        beside = path.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(self))
        beside.replace(path)

    @classmethod
    def read(cls, path: Path = ENDPOINT_FILE) -> Self:
        """Read what ``write`` wrote.

        Raises:
            LocalStageNotRunningError: There is no such file, or something else wrote it.
        """
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (FileNotFoundError, msgspec.DecodeError):
            raise LocalStageNotRunningError(path) from None
