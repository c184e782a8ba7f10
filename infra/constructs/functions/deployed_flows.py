"""The flows that a deploy publishes, checked for conflicts with each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fleetlane.events.flows.artifacts import FlowArtifact, team_rules
from fleetlane.events.flows.files import BadFlowError, PublishedFlows, flows_in
from fleetlane.events.flows.flow import FlowSet, topic_collisions
from infra.artifacts.folder import Artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedFlows:
    """What is published, and the folder of the artifacts that it names."""

    published: PublishedFlows
    parsers: Path


def deployed_flows(folder: Path, artifacts: Artifacts) -> DeployedFlows:
    """Make a version of the flow files in ``folder``, with the artifacts of their parsers.

    Raises:
        BadFlowError: There are none, two collide, a file is refused for itself, or a parser that
            it names was not built.
    """
    flows = flows_in(folder)
    if not flows:
        raise BadFlowError(
            str(folder), "holds no flow file, and without one every message is parked; add one"
        )
    _check_topics(flows, folder)
    published = PublishedFlows.of(flows.values(), _artifacts(flows, folder, artifacts))
    return DeployedFlows(published=published, parsers=artifacts.parsers_folder())


def _artifacts(flows: FlowSet, folder: Path, artifacts: Artifacts) -> Iterator[FlowArtifact]:
    for owner, use in team_rules(flows.values()):
        found = artifacts.parser(owner, use)
        if found is None:
            raise BadFlowError(
                str(folder),
                f"a flow of {owner} names parser {use}, which is in no artifact below "
                f"{artifacts.parsers_folder() / owner}; run `make artifacts`, or publish this flow "
                "with `fleetlane flow publish` in place of deploying it",
            )
        yield found


def _check_topics(flows: FlowSet, folder: Path) -> None:
    """Refuse flows of which one writes to another's canonical topic."""
    for stream, problem in topic_collisions(flows.values()):
        raise BadFlowError(str(folder / f"{stream}.toml"), problem)
