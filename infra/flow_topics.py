"""Whether the repository's own flows can live side by side: checked before anything is deployed."""

from pathlib import Path

from fleetlane.events.flow_files import BadFlowError, flows_in
from fleetlane.events.topics import canonical_topic


def check_flow_topics(folder: Path) -> None:
    """Refuse flows of which one writes to another's canonical topic.

    Raises:
        BadFlowError: Two flows collide, or a file is refused for itself.
    """
    flows = flows_in(folder)
    for flow in flows.values():
        for redirect in flow.canonical.redirects:
            if redirect.to in flows:
                topic = canonical_topic(redirect.to)
                problem = (
                    f"field `canonical.redirects` names {redirect.to!r}, but {topic} is the topic "
                    f"of {redirect.to}.toml; redirect to a name that no flow has"
                )
                raise BadFlowError(str(folder / f"{flow.stream}.toml"), problem)
