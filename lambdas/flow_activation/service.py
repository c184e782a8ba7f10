"""Putting into force what owners of flows want, once every topic that it names exists."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from clients.aws import S3Client
from clients.flows import store as flow_store
from clients.flows.parser_store import ArtifactChangedError, ArtifactMissingError, ParserStore
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import BadArtifactError, FlowArtifact, team_rules
from fleetlane.events.flows.event_schema import schema_problem
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.flows.ownership import collisions, topic_collisions
from fleetlane.events.lake.views import breaking_changes
from fleetlane.events.s3_keys import owners_flows, owners_prefix

type OwnersVersions = Mapping[str, tuple[str, ...]]
"""Each owner's version and those before, as ``PublishedFlows`` has them."""

OWNER_BYTES_MAX: Final = 1 << 20
"""Every function and job reads the flows of all owners, again and again."""

OWNER_TOPICS_MAX: Final = 500

NOTHING: Final = PublishedFlows(version="", flows=())
"""What is in force where nothing ever was, or it cannot be read."""


class FlowsRefusedError(FleetlaneError):
    """A published version is not fit to be in force. The one before it stays."""

    version: str
    problem: str
    sentence = "flows {version} are refused: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """What was done: the version now in force, and the topics that were created for it."""

    version: str
    topics_created: tuple[str, ...]


class Topics(Protocol):
    """Creates the topics that are missing, and returns their names once they can be used."""

    def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]: ...


def activate_owners(
    owners: Collection[str], *, s3: S3Client, bucket: str, topics: Topics
) -> Activation:
    """Put into force what each of these owners wants; all others keep what they have.

    The caller is of no account: each owner's wish lies where that owner alone may write. Where none
    was ever in force, or it cannot be read, the wishes of all owners are taken.

    No topic is ever deleted or changed. What an owner had in force may come back, by any schemas.

    Raises:
        FlowsRefusedError: An owner wants nothing, something that is another's, or more than is
            allowed; two flows are for the same stream, a parser of a team cannot be read as it was
            published, or a schema is none or breaks who reads its events.
        FlowsOvertakenError: Others were activated at this moment. Ask again.
        FlowsUnavailableError: S3 does not answer.
        ArtifactUnavailableError: Likewise.
        TopicsNotCreatedError: A topic could not be created. The version before stays in force.
    """
    store, owned = flow_store.FlowStore(s3, bucket), flow_store.OwnerFlows(s3, bucket)
    current = store.in_force() or NOTHING
    asked = {*owners, *owned.owners()} if current is NOTHING else set(owners)
    wanted = {owner: _wanted(owner, owned) for owner in sorted(asked)}
    merged, versions = _merged(wanted, current), _versions(wanted, current, owned)
    version = store.publish(merged.flows, merged.artifacts)
    for problem in _problems(merged, current, ParserStore(s3, bucket), versions):
        raise FlowsRefusedError(version, problem)
    created = topics.create_missing(topics_of(merged.flows))
    store.make_current(version, owners=versions, in_place_of=current.version or None)
    return Activation(version=version, topics_created=created)


def _merged(wanted: Mapping[str, PublishedFlows], current: PublishedFlows) -> PublishedFlows:
    """The flows in force with those that are wanted in place of their owners'."""
    had = [flow for flow in current.flows if flow.owner in wanted]
    flows = [flow for flow in current.flows if flow.owner not in wanted]
    artifacts = [one for one in current.artifacts if one.owner not in wanted]
    for owner, published in wanted.items():
        for name, holder, _ in collisions(published.flows, flows, had=had):
            problem = f"{name} is {holder}'s; a flow of {owner} names it too"
            raise FlowsRefusedError(published.version, problem)
        flows.extend(published.flows)
        artifacts.extend(published.artifacts)
    for stream, problem in topic_collisions(flows):
        for version in (one.version for one in wanted.values() if stream in one.by_stream):
            raise FlowsRefusedError(version, f"stream {stream}: {problem}")
    return PublishedFlows.of(flows, artifacts)


def _versions(
    wanted: Mapping[str, PublishedFlows], current: PublishedFlows, owned: flow_store.OwnerFlows
) -> OwnersVersions:
    versions = dict(current.owners)
    for owner, published in wanted.items():
        before = _history(owner, current, owned)
        others = [version for version in before if version != published.version]
        versions[owner] = (published.version, *others[: flow_store.BEFORE_MAX])
    return versions


def _wanted(owner: str, owned: flow_store.OwnerFlows) -> PublishedFlows:
    """What an owner wants in force, which may be nothing but its own."""
    wanted = owned.wanted(owner)
    if wanted is None:
        raise FlowsRefusedError("(none)", f"{owner} wants no version in force; publish one")
    try:
        published = owned.of(owner).published(wanted.version)
    except (flow_store.FlowsNotPublishedError, flow_store.FlowsUnreadableError) as problem:
        raise FlowsRefusedError(wanted.version, str(problem)) from problem
    for foreign in _foreign(published, owner):
        raise FlowsRefusedError(wanted.version, f"{foreign}, and lies below {owners_flows(owner)}")
    return published


def _foreign(published: PublishedFlows, owner: str) -> Iterator[str]:
    for flow in published.flows:
        if flow.owner != owner:
            yield f"the flow of stream {flow.stream} is {flow.owner}'s"
    for artifact in published.artifacts:
        if artifact.owner != owner:
            yield f"the artifact of parser {artifact.use} is {artifact.owner}'s"


def _history(owner: str, current: PublishedFlows, owned: flow_store.OwnerFlows) -> tuple[str, ...]:
    """The owner's version in force and those before it.

    Flows that came into force before there was a place for each owner are put there, once.
    """
    known = current.owners.get(owner)
    if known is not None or all(flow.owner != owner for flow in current.flows):
        return known or ()
    before = current.of_owner(owner)
    return (owned.of(owner).publish(before.flows, before.artifacts),)


def _problems(
    published: PublishedFlows,
    current: PublishedFlows,
    artifacts: ParserStore,
    owners: OwnersVersions,
) -> Iterator[str]:
    streams = Counter(flow.stream for flow in published.flows)
    repeated = [stream for stream, count in streams.items() if count > 1]
    if repeated:
        yield f"several flows for stream {', '.join(repeated)}"
    returning = {one for one, (new, *_) in owners.items() if new in current.owners.get(one, ())}
    yield from _owners_problems(published, current, returning)
    yield from _artifact_problems(published, current, artifacts)
    if published.version not in current.before:
        changed = [flow for flow in current.flows if flow.owner not in returning]
        for stream, change in breaking_changes(changed, published.flows):
            yield f"stream {stream}: {change}"


def _owners_problems(
    flows: PublishedFlows, current: PublishedFlows, returning: Collection[str]
) -> Iterator[str]:
    """What no command of ours publishes. What is in force, or was, is not looked at again."""
    for owner in sorted({flow.owner for flow in flows.flows} - {*returning}):
        owned = flows.of_owner(owner)
        if owned == current.of_owner(owner):
            continue
        size_bytes, topics = len(owned.to_json()), len(topics_of(owned.flows))
        if size_bytes > OWNER_BYTES_MAX:
            yield f"{owner}'s flows are {size_bytes} bytes; the limit is {OWNER_BYTES_MAX} bytes"
        if topics > OWNER_TOPICS_MAX:
            yield f"{owner}'s flows need {topics} topics; the limit is {OWNER_TOPICS_MAX} topics"
        for flow in owned.flows:
            problem = None if flow.schema is None else schema_problem(flow.schema)
            if problem is not None:
                yield f"the schema of stream {flow.stream} {problem}"


def _artifact_problems(
    flows: PublishedFlows, current: PublishedFlows, artifacts: ParserStore
) -> Iterator[str]:
    """What is wrong with the parsers that are new; nothing of a team's is imported for it."""
    for owner, use in team_rules(flows.flows):
        artifact = flows.by_use.get((owner, use))
        if artifact is not None and artifact == current.by_use.get((owner, use)):
            continue
        problem = _problem_of(artifact, artifacts)
        if problem is not None:
            yield f"parser {use} of {owner}: {problem}"


def _problem_of(artifact: FlowArtifact | None, artifacts: ParserStore) -> str | None:
    if artifact is None:
        return "the version names no artifact; publish it with `fleetlane flow publish`"
    if not artifact.key.startswith(owners_prefix(artifact.owner)):
        return f"{artifact.key} is not one of its owner's artifacts"
    try:
        manifest = artifacts.manifest(artifact)
    except (ArtifactMissingError, ArtifactChangedError, BadArtifactError) as problem:
        return str(problem)
    if not manifest.offers(artifact.use):
        return f"{artifact.key} offers {', '.join(manifest.uses)}"
    return None
