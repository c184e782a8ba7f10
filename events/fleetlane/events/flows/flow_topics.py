"""The topics that flows write to, and flows that would write to each other's."""

from collections.abc import Iterable, Iterator

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import canonical_topic, platform_topics, unique_topic


def topics_of(flows: Iterable[Flow]) -> tuple[str, ...]:
    """All topics that a platform with these flows needs, sorted."""
    return tuple(sorted({*platform_topics(), *_topics_of_each(flows)}))


def _topics_of_each(flows: Iterable[Flow]) -> Iterator[str]:
    for flow in flows:
        yield canonical_topic(flow.stream)
        if flow.dedupe is not None:
            yield unique_topic(flow.stream)
        yield from (canonical_topic(redirect.to) for redirect in flow.canonical.redirects)
        for kind in (None, *flow.device_types):
            yield from (flow.raw_topic(lane, device_type=kind) for lane in Lane)


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
