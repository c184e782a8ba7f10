"""Whether a published version's parsers can be had: nothing of a team's is imported for it."""

from collections.abc import Iterator
from typing import Protocol

from clients.flows.parser_store import ArtifactChangedError, ArtifactMissingError
from fleetlane.events.flows.artifacts import BadArtifactError, FlowArtifact, Manifest, team_rules
from fleetlane.events.flows.files import PublishedFlows


class Artifacts(Protocol):
    """Where artifacts are read; raises as ``ParserStore`` does."""

    def manifest(self, artifact: FlowArtifact) -> Manifest: ...


def artifact_problems(flows: PublishedFlows, artifacts: Artifacts) -> Iterator[str]:
    """What is wrong with the parsers of a version, a sentence a parser.

    Raises:
        ArtifactUnavailableError: S3 does not answer.
    """
    for owner, use in team_rules(flows.flows):
        artifact = flows.artifact(owner, use)
        problem = (
            "the version names no artifact; publish it with `fleetlane flow publish`"
            if artifact is None
            else _problem_of(artifact, artifacts)
        )
        if problem is not None:
            yield f"parser {use} of {owner}: {problem}"


def _problem_of(artifact: FlowArtifact, artifacts: Artifacts) -> str | None:
    if not artifact.is_of_its_owner:
        return f"{artifact.key} is not one of its owner's artifacts"
    try:
        manifest = artifacts.manifest(artifact)
    except (ArtifactMissingError, ArtifactChangedError, BadArtifactError) as problem:
        return str(problem)
    if not manifest.offers(artifact.use):
        return f"{artifact.key} offers {', '.join(manifest.uses)}"
    return None
