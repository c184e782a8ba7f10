"""Putting a published version of the flows into force, once every topic that it names exists."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flow_files import PublishedFlows, topics_of


class FlowsRefusedError(FleetlaneError):
    """A published version is not fit to be in force. The one before it stays."""

    reason = "flows_refused"

    def __init__(self, version: str, problem: str) -> None:
        super().__init__(version, problem)
        self.version, self.problem = version, problem

    def __str__(self) -> str:
        return f"flows {self.version} are refused: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """What was done: the version now in force, and the topics that were created for it."""

    version: str
    topics_created: tuple[str, ...]


class PublishedVersions(Protocol):
    """Where versions are read, and made current."""

    def published(self, version: str) -> PublishedFlows: ...

    def make_current(self, version: str) -> PublishedFlows: ...


class Topics(Protocol):
    """Creates the topics that are missing, and returns their names once they can be used."""

    def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]: ...


def activate(version: str, *, store: PublishedVersions, topics: Topics) -> Activation:
    """Put a version into force. To roll back, activate the version before.

    No topic is ever deleted or changed.

    Raises:
        FlowsNotPublishedError: There is no such version.
        FlowsRefusedError: Two of its flows are for the same stream.
        FlowsUnavailableError: S3 does not answer.
        TopicsNotCreatedError: A topic could not be created. The version before stays in force.
    """
    flows = store.published(version).flows
    repeated = [stream for stream, n in Counter(flow.stream for flow in flows).items() if n > 1]
    if repeated:
        raise FlowsRefusedError(version, f"several flows for stream {', '.join(repeated)}")
    created = topics.create_missing(topics_of(flows))
    store.make_current(version)
    return Activation(version=version, topics_created=created)
