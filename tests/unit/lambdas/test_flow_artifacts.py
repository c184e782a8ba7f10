"""A version whose parsers are unavailable is not activated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from botocore.exceptions import EndpointConnectionError

from clients.flows.parser_store import ArtifactUnavailableError, ParserStore
from clients.flows.store import FlowsOvertakenError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import flow_from_toml
from tests.contract.aws_in_process import buckets
from tests.team_artifacts import team_artifact
from tests.unit.lambdas.fakes import FakeKafka
from tests.unit.lambdas.test_flow_activation import BUCKET, World

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
TANK = flow_from_toml(FLOW, file="tank.toml")


@dataclass(frozen=True, kw_only=True)
class Deployed(World):
    """A bucket with the artifact deployed."""

    artifact: FlowArtifact

    @property
    def parsers(self) -> ParserStore:
        return ParserStore(self.s3, BUCKET)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Deployed]:
    with buckets(BUCKET) as s3:
        parsers = ParserStore(s3, BUCKET)
        parsers.deploy(team_artifact(tmp_path, USE), owner="water-works")
        artifact = parsers.offering("water-works", USE)
        assert artifact is not None
        yield Deployed(s3=s3, artifact=artifact)


def test_a_version_whose_artifact_is_there_is_put_into_force(world: Deployed) -> None:
    activation = world.activate(TANK, artifacts=[world.artifact])

    assert world.flows.current().version == activation.version


def test_a_version_that_names_no_artifact_is_refused(world: Deployed) -> None:
    refusal = world.refusal(TANK)

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
    world: Deployed, changes: dict[str, str], problem: str
) -> None:
    other = msgspec.structs.replace(world.artifact, **changes)

    assert problem in world.refusal(TANK, artifacts=[other])


def test_an_artifact_that_does_not_offer_the_parser_is_refused(
    world: Deployed, tmp_path: Path
) -> None:
    world.parsers.deploy(team_artifact(tmp_path, "pump==3.1"), owner="water-works")
    pump = world.parsers.offering("water-works", "pump==3.1")
    assert pump is not None

    refusal = world.refusal(TANK, artifacts=[msgspec.structs.replace(pump, use=USE)])

    assert "parsers/water-works/pump/3.1.zip offers pump==3.1" in refusal


def test_an_outage_is_no_refusal(world: Deployed) -> None:
    def fail(params: dict[str, Any], **_: object) -> None:
        if world.artifact.key in params["url"]:
            raise EndpointConnectionError(endpoint_url=params["url"])

    world.s3.meta.events.register("before-call.s3.GetObject", fail)

    with pytest.raises(ArtifactUnavailableError):
        world.activate(TANK, artifacts=[world.artifact])


def test_an_artifact_that_is_in_force_is_not_read_again(world: Deployed) -> None:
    world.activate(TANK, artifacts=[world.artifact])
    world.s3.delete_object(Bucket=BUCKET, Key=world.artifact.key)
    more = flow_from_toml(FLOW.replace('"json"', '"csv"'), file="tank.toml")

    activation = world.activate(more, artifacts=[world.artifact])

    assert world.flows.current().version == activation.version


def test_flows_that_somebody_changed_meanwhile_are_not_overwritten(world: Deployed) -> None:
    theirs = flow_from_toml(FLOW.replace("tank", "pump").replace(USE, "csv"), file="pump.toml")

    class Overtaken(FakeKafka):
        """While topics are created, others are faster."""

        def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]:
            world.flows.make_current(world.flows.publish([theirs]))
            return super().create_missing(topics)

    world.activate(flow_from_toml(FLOW.replace(USE, "csv"), file="tank.toml"))

    with pytest.raises(FlowsOvertakenError, match="another version is in force by now"):
        world.activate(TANK, artifacts=[world.artifact], topics=Overtaken([]))

    assert world.flows.current().by_stream == {"pump": theirs}
