"""Parsers as they are deployed, unpacked to be loaded here."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from fleetlane.events.flows.artifacts import is_of_a_team
from fleetlane.parsers.artifacts.writing import unpack
from operations.flows.publisher import FlowPublisher


class DeployedParsers(ExitStack):
    """Finds parsers in artifacts. As a context, keeps their folders until it is left."""

    def __init__(self, publisher: FlowPublisher) -> None:
        super().__init__()
        self._publisher = publisher
        self._known: dict[str, str] = {}

    def location(self, owner: str, use: str) -> str | None:
        """A folder with the parser in it; ``None`` for a built-in format."""
        if not is_of_a_team(use):
            return None
        artifact = self._publisher.found_artifact(owner, use)
        if artifact.sha256 not in self._known:
            folder = Path(self.enter_context(TemporaryDirectory()))
            self._publisher.parsers.fetch(artifact, folder / "artifact.zip")
            unpack(folder / "artifact.zip", folder / "unpacked")
            self._known[artifact.sha256] = str(folder / "unpacked")
        return self._known[artifact.sha256]
