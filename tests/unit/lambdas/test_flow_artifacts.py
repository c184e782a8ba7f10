"""A version whose parsers are unavailable is not activated."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from clients.flows.parser_store import ArtifactMissingError, ArtifactUnavailableError, ParserStore
from clients.flows.store import FlowsOvertakenError, FlowStore
from fleetlane.events.flows.artifacts import FlowArtifact, Manifest
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from lambdas.flow_activation.service import Artifacts, FlowsRefusedError, OwnersVersions, activate
from tests.contract.aws_in_process import buckets
from tests.team_artifacts import team_artifact
from tests.unit.lambdas.fakes import FakeKafka

USE = "tank-level==1.0"
FLOW = f"""
stream = "tank"
owner = "water-works"
[[parsers]]
use = "json"
device_types = ["gateway"]
[[parsers]]
use = "{USE}"
"""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket with the artifact deployed, and a version without team parsers in force."""

    flows: FlowStore
    parsers: ParserStore
    artifact: FlowArtifact

    def publish(self, *artifacts: FlowArtifact) -> str:
        return self.flows.publish([flow_from_toml(FLOW, file="tank.toml")], artifacts)

    def activate(
        self,
        version: str,
        *,
        artifacts: Artifacts | None = None,
        known: PublishedFlows | None = None,
    ) -> None:
        activate(
            version,
            store=self.flows,
            topics=FakeKafka([]),
            artifacts=artifacts or self.parsers,
            current=known,
            owners=OwnersVersions(versions={}, returning=()),
        )

    def refusal(self, version: str) -> str:
        before = self.flows.current()
        with pytest.raises(FlowsRefusedError) as refused:
            self.activate(version)
        assert self.flows.current() == before, "the current version stays"
        return str(refused.value)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    with buckets("flows") as s3:
        flows, parsers = FlowStore(s3, "flows"), ParserStore(s3, "flows")
        flows.make_current(flows.publish([]))
        parsers.deploy(team_artifact(tmp_path, USE), owner="water-works")
        artifact = parsers.offering("water-works", USE)
        assert artifact is not None
        yield Bucket(flows=flows, parsers=parsers, artifact=artifact)


def test_a_version_whose_artifact_is_there_is_put_into_force(bucket: Bucket) -> None:
    version = bucket.publish(bucket.artifact)

    bucket.activate(version)

    assert bucket.flows.current().version == version


def test_a_version_that_names_no_artifact_is_refused(bucket: Bucket) -> None:
    refusal = bucket.refusal(bucket.publish())

    assert f"parser {USE} of water-works: the version names no artifact" in refusal


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"key": "parsers/water-works/tank-level/2.0.zip"}, "there is no parsers/water-works/"),
        ({"sha256": "0" * 64}, "the flows were published with 0000"),
        ({"key": "parsers/others/tank-level/1.0.zip"}, "is not one of its owner's artifacts"),
    ],
    ids=["missing", "other-digest", "other-owner"],
)
def test_an_artifact_that_is_not_as_published_is_refused(
    bucket: Bucket, changes: dict[str, str], problem: str
) -> None:
    other = msgspec.structs.replace(bucket.artifact, **changes)

    refusal = bucket.refusal(bucket.publish(other))

    assert problem in refusal


def test_an_artifact_that_does_not_offer_the_parser_is_refused(
    bucket: Bucket, tmp_path: Path
) -> None:
    bucket.parsers.deploy(team_artifact(tmp_path, "pump==3.1"), owner="water-works")
    pump = bucket.parsers.offering("water-works", "pump==3.1")
    assert pump is not None

    refusal = bucket.refusal(bucket.publish(msgspec.structs.replace(pump, use=USE)))

    assert "parsers/water-works/pump/3.1.zip offers pump==3.1" in refusal


def test_an_outage_is_no_refusal(bucket: Bucket) -> None:
    class Down:
        def manifest(self, artifact: FlowArtifact) -> Manifest:
            raise ArtifactUnavailableError(artifact.key, "connection refused")

    version = bucket.publish(bucket.artifact)

    with pytest.raises(ArtifactUnavailableError):
        bucket.activate(version, artifacts=Down())


def test_an_artifact_that_is_in_force_is_not_read_again(bucket: Bucket) -> None:
    class Unread:
        def manifest(self, artifact: FlowArtifact) -> Manifest:
            raise ArtifactMissingError(artifact.key)

    bucket.activate(bucket.publish(bucket.artifact))
    known, more = bucket.flows.current(), FLOW.replace('"json"', '"csv"')
    version = bucket.flows.publish([flow_from_toml(more, file="tank.toml")], [bucket.artifact])

    bucket.activate(version, artifacts=Unread(), known=known)

    assert bucket.flows.current().version == version


def test_flows_that_somebody_changed_meanwhile_are_not_overwritten(bucket: Bucket) -> None:
    known, mine = bucket.flows.current(), bucket.publish(bucket.artifact)
    theirs = bucket.flows.publish([flow_from_toml(FLOW.replace(USE, "csv"), file="tank.toml")])
    bucket.activate(theirs, known=known)

    with pytest.raises(FlowsOvertakenError, match="another version is in force by now"):
        bucket.activate(mine, known=known)

    assert bucket.flows.current().version == theirs
