from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from clients.aws import S3Client
from clients.flows.store import FlowStore, OwnerFlows
from clients.kafka.topics import TopicsNotCreatedError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import WantedVersion, flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.topics import platform_topics
from lambdas.flow_activation.handler import answer
from lambdas.flow_activation.service import Activation, FlowsRefusedError, Topics, activate_owners
from tests.contract.aws_in_process import buckets
from tests.unit.lambdas.fakes import FakeKafka

BUCKET = "flows"


@dataclass(frozen=True, kw_only=True)
class World:
    """A bucket of flows, none of which are in force yet, and Kafka."""

    s3: S3Client
    kafka: FakeKafka = field(default_factory=lambda: FakeKafka(platform_topics()))

    @property
    def flows(self) -> FlowStore:
        return FlowStore(self.s3, BUCKET)

    def activate(
        self, *flows: Flow, artifacts: Sequence[FlowArtifact] = (), topics: Topics | None = None
    ) -> Activation:
        """Publish flows of one owner, who wants them in force; then activate what it wants."""
        owner, owned = flows[0].owner, OwnerFlows(self.s3, BUCKET)
        owned.want(owner, WantedVersion(owned.of(owner).publish(flows, artifacts)))
        return activate_owners([owner], s3=self.s3, bucket=BUCKET, topics=topics or self.kafka)

    def refusal(self, *flows: Flow, artifacts: Sequence[FlowArtifact] = ()) -> str:
        """Why the flows are not activated; what is in force, and Kafka's topics, stay."""
        before = self.flows.in_force(), sorted(self.kafka.topics)
        with pytest.raises(FlowsRefusedError) as refused:
            self.activate(*flows, artifacts=artifacts)
        assert (self.flows.in_force(), sorted(self.kafka.topics)) == before
        return str(refused.value)


@pytest.fixture
def world() -> Iterator[World]:
    with buckets(BUCKET) as s3:
        yield World(s3=s3)


def test_missing_topics_are_created_and_the_version_is_current(world: World) -> None:
    activation = world.activate(_flow("thermo", topic="stream"))

    assert world.flows.current().version == activation.version
    assert activation.topics_created == (
        "canonical.thermo",
        "raw.fast.stream.thermo",
        "raw.slow.stream.thermo",
        "raw.standard.stream.thermo",
    )


def test_topics_of_flows_that_are_gone_stay(world: World) -> None:
    world.kafka.create_missing(["canonical.gone"])

    world.activate(_flow("thermo"))

    assert "canonical.gone" in world.kafka.topics


def test_a_version_is_not_current_before_its_topics_exist(world: World) -> None:
    class Refusing:
        def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]:
            raise TopicsNotCreatedError(tuple(topics), "Kafka refuses")

    with pytest.raises(TopicsNotCreatedError):
        world.activate(_flow("thermo"), topics=Refusing())

    assert world.flows.in_force() is None


def test_two_flows_for_one_stream_are_refused(world: World) -> None:
    refusal = world.refusal(_flow("thermo"), _flow("thermo", topic="stream"))

    assert "several flows for stream thermo" in refusal


def test_a_schema_that_is_none_is_refused_whatever_published_it(world: World) -> None:
    flow = msgspec.structs.replace(_flow("thermo"), schema={"type": "array"})

    assert "the schema of stream thermo is not for an event" in world.refusal(flow)


def test_an_owner_has_at_most_a_mebibyte_of_flows(world: World) -> None:
    rule = msgspec.structs.replace(_flow("thermo").parsers[0], options={"note": "x" * (1 << 20)})
    flow = msgspec.structs.replace(_flow("thermo"), parsers=(rule,))

    assert "the limit is 1048576 bytes" in world.refusal(flow)


def test_an_owner_has_at_most_500_topics(world: World) -> None:
    kinds = tuple(f"type-{one}" for one in range(200))
    flow = _flow("thermo", topic="device_type")
    rule = msgspec.structs.replace(flow.parsers[0], device_types=kinds)

    refusal = world.refusal(msgspec.structs.replace(flow, parsers=(rule,)))

    assert "topics; the limit is 500 topics" in refusal


def test_who_names_owners_learns_which_topics_are_new() -> None:
    told = answer({"owners": ["acme"]}, _activated)

    assert told == {"version": "v1", "topics_created": ("canonical.thermo",)}


@pytest.mark.parametrize("event", [{"version": "v1"}, {"owners": []}, {"owners": "acme"}, {}])
def test_no_caller_chooses_a_version(event: dict[str, object]) -> None:
    with pytest.raises(FlowsRefusedError, match="names no owners"):
        answer(event, _activated)


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_a_deploy_names_its_owners_in_cloudformations_words(request_type: str) -> None:
    event = {"RequestType": request_type, "ResourceProperties": {"owners": ["acme"]}}

    assert answer(event, _activated) == {"PhysicalResourceId": "v1"}


def test_a_deploy_that_is_done_with_a_version_changes_nothing() -> None:
    event = {"RequestType": "Delete", "ResourceProperties": {"version": "v1"}}

    def refuse(owners: Sequence[str]) -> Activation:
        raise FlowsRefusedError(", ".join(owners), "it is called for")

    assert answer(event, refuse) == {}


def test_a_deploy_is_notified_why_its_version_is_refused(world: World) -> None:
    event = {"RequestType": "Update", "ResourceProperties": {"owners": ["acme"]}}
    twice = (_flow("thermo"), _flow("thermo"))

    with pytest.raises(FlowsRefusedError, match="several flows"):
        answer(event, lambda _: world.activate(*twice))


def _activated(_: Sequence[str]) -> Activation:
    return Activation(version="v1", topics_created=("canonical.thermo",))


def _flow(stream: str, topic: str = "lane") -> Flow:
    text = f'stream = "{stream}"\nowner = "acme"\ntopic = "{topic}"\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file=f"{stream}.toml")
