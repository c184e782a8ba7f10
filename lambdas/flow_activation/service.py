"""Putting a published version of the flows into force, once every topic that it names exists."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from clients.flows.parser_store import ArtifactChangedError, ArtifactMissingError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import BadArtifactError, FlowArtifact, Manifest, team_rules
from fleetlane.events.flows.event_schema import schema_problem
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.lake.views import breaking_changes
from fleetlane.events.s3_keys import owners_prefix

OWNER_BYTES_MAX: Final = 1 << 20
"""Every function and job reads the flows of all owners, again and again."""

OWNER_TOPICS_MAX: Final = 500


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersVersions:
    """Each owner's version and those before, as ``PublishedFlows`` has them.

    ``returning`` owners had theirs before.
    """

    versions: Mapping[str, tuple[str, ...]]
    returning: Collection[str]


class PublishedVersions(Protocol):
    """Where versions of all owners' flows are read, and made current."""

    def published(self, version: str) -> PublishedFlows: ...
    def make_current(
        self, version: str, *, owners: Mapping[str, tuple[str, ...]] | None, in_place_of: str | None
    ) -> PublishedFlows: ...


class Topics(Protocol):
    """Creates the topics that are missing, and returns their names once they can be used."""

    def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]: ...


class Artifacts(Protocol):
    """Where artifacts are read; raises as ``ParserStore`` does."""

    def manifest(self, artifact: FlowArtifact) -> Manifest: ...


def activate(
    version: str,
    *,
    store: PublishedVersions,
    topics: Topics,
    artifacts: Artifacts,
    current: PublishedFlows | None,
    owners: OwnersVersions,
) -> Activation:
    """Put a version into force in place of ``current``. To roll back, activate the version before.

    No topic is ever deleted or changed. What was in force before may come back, whatever its
    schemas are: so may that of an owner.

    Raises:
        FlowsNotPublishedError: There is no such version.
        FlowsRefusedError: Two of its flows are for the same stream, a parser of a team cannot be
            read as it was published, a schema is none or breaks who reads its events, or an owner
            has more than is allowed.
        FlowsOvertakenError: Another than ``current`` is in force by now.
        FlowsUnavailableError: S3 does not answer.
        ArtifactUnavailableError: Likewise.
        TopicsNotCreatedError: A topic could not be created. The version before stays in force.
    """
    published = store.published(version)
    for problem in _problems(published, current, artifacts, owners):
        raise FlowsRefusedError(version, problem)
    created = topics.create_missing(topics_of(published.flows))
    known = None if current is None else current.version
    store.make_current(version, owners=owners.versions, in_place_of=known)
    return Activation(version=version, topics_created=created)


def _problems(
    published: PublishedFlows,
    current: PublishedFlows | None,
    artifacts: Artifacts,
    owners: OwnersVersions,
) -> Iterator[str]:
    streams = Counter(flow.stream for flow in published.flows)
    repeated = [stream for stream, count in streams.items() if count > 1]
    if repeated:
        yield f"several flows for stream {', '.join(repeated)}"
    yield from _owners_problems(published, current, owners.returning)
    yield from _artifact_problems(published, current, artifacts)
    if current is not None and published.version not in current.before:
        changed = [flow for flow in current.flows if flow.owner not in owners.returning]
        for stream, change in breaking_changes(changed, published.flows):
            yield f"stream {stream}: {change}"


def _owners_problems(
    flows: PublishedFlows, current: PublishedFlows | None, returning: Collection[str]
) -> Iterator[str]:
    """What no command of ours publishes. What is in force, or was, is not looked at again."""
    for owner in sorted({flow.owner for flow in flows.flows} - {*returning}):
        owned = flows.of_owner(owner)
        if current is not None and owned == current.of_owner(owner):
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
    flows: PublishedFlows, current: PublishedFlows | None, artifacts: Artifacts
) -> Iterator[str]:
    """What is wrong with the parsers that are new; nothing of a team's is imported for it."""
    known = {} if current is None else current.by_use
    for owner, use in team_rules(flows.flows):
        artifact = flows.by_use.get((owner, use))
        if artifact is not None and artifact == known.get((owner, use)):
            continue
        problem = _problem_of(artifact, artifacts)
        if problem is not None:
            yield f"parser {use} of {owner}: {problem}"


def _problem_of(artifact: FlowArtifact | None, artifacts: Artifacts) -> str | None:
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
