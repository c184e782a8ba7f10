"""The flows that a deploy publishes, once it is sure that they can live side by side."""

from pathlib import Path

from fleetlane.events.flow_files import BadFlowError, PublishedFlows, flows_in
from fleetlane.events.flow_topics import topic_collisions
from fleetlane.events.flows import FlowSet


def deployed_flows(folder: Path) -> PublishedFlows:
    """Make a version of the flow files in ``folder``.

    Raises:
        BadFlowError: There are none, two collide, or a file is refused for itself.
    """
    flows = flows_in(folder)
    if not flows:
        raise BadFlowError(
            str(folder), "holds no flow file, and without one every message is parked; add one"
        )
    _check_topics(flows, folder)
    return PublishedFlows.of(flows.values())


def _check_topics(flows: FlowSet, folder: Path) -> None:
    """Refuse flows of which one writes to another's canonical topic."""
    for stream, problem in topic_collisions(flows.values()):
        raise BadFlowError(str(folder / f"{stream}.toml"), problem)
