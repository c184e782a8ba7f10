"""Flows that would write to each other's topics."""

from collections.abc import Iterable, Iterator

from fleetlane.events.flows.flow import Flow
from fleetlane.events.topics import canonical_topic


def topic_collisions(flows: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """Each flow's stream that writes to another's canonical topic, and a sentence of what to do."""
    known = list(flows)
    streams = {flow.stream for flow in known}
    for flow in known:
        for redirect in flow.canonical.redirects:
            if redirect.to in streams:
                yield (
                    flow.stream,
                    f"field `canonical.redirects` names {redirect.to!r}, but "
                    f"{canonical_topic(redirect.to)} is the topic of {redirect.to}.toml; redirect "
                    "to a name that no flow has",
                )
