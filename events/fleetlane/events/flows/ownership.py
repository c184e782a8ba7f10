"""What a flow has for its owner alone: its stream, the topics it writes to, its parsers' names."""

from collections.abc import Iterable, Iterator

from fleetlane.events.flows.artifacts import is_of_a_team, split_use
from fleetlane.events.flows.flow import Flow
from fleetlane.events.topics import canonical_topic


def collisions(
    wanted: Iterable[Flow], others: Iterable[Flow], *, had: Iterable[Flow] = ()
) -> Iterator[tuple[str, str, str]]:
    """What ``wanted`` flows name that is another owner's: it, whose it is, and who names it too.

    What an owner ``had`` in force before this was checked stays its own too.
    """
    held = {name: flow.owner for flow in others for name in _owned(flow)}
    kept = {(flow.owner, name) for flow in had for name in _owned(flow)}
    for flow in wanted:
        for name in _owned(flow):
            holder = held.get(name, flow.owner)
            if holder != flow.owner and (flow.owner, name) not in kept:
                yield name, holder, flow.owner


def _owned(flow: Flow) -> Iterator[str]:
    yield f"stream {flow.stream}"
    yield f"topic {canonical_topic(flow.stream)}"
    for redirect in flow.canonical.redirects:
        yield f"topic {canonical_topic(redirect.to)}"
    for rule in flow.parsers:
        if is_of_a_team(rule.use):
            yield f"parser {split_use(rule.use)[0]}"


def topic_collisions(flows: Iterable[Flow]) -> Iterator[tuple[str, str]]:
    """Each flow's stream that writes to another's canonical topic, and a sentence of what to do."""
    known = list(flows)
    streams = {flow.stream for flow in known}
    for flow in known:
        for to in (redirect.to for redirect in flow.canonical.redirects):
            if to in streams:
                taken = f"{canonical_topic(to)} is the topic of {to}.toml"
                problem = f"field `canonical.redirects` names {to!r}, but {taken}"
                yield flow.stream, f"{problem}; redirect to a name that no flow has"
