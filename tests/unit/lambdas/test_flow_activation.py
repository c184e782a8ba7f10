from collections.abc import Iterable, Sequence

import msgspec
import pytest

from clients.flows.parser_store import ArtifactMissingError
from clients.flows.store import FlowsNotPublishedError
from clients.kafka.topics import TopicsNotCreatedError
from fleetlane.events.flows.artifacts import FlowArtifact, Manifest
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.topics import platform_topics
from lambdas.flow_activation.handler import answer
from lambdas.flow_activation.service import (
    Activation,
    FlowsRefusedError,
    OwnersVersions,
    Topics,
    activate,
)
from tests.unit.lambdas.fakes import FakeFlows, FakeKafka


class NoArtifacts:
    """The flows here have built-in parsers alone."""

    def manifest(self, artifact: FlowArtifact) -> Manifest:
        raise ArtifactMissingError(artifact.key)


NONE = NoArtifacts()


def test_missing_topics_are_created_and_the_version_is_current() -> None:
    store, kafka = _store(_flow("thermo", topic="stream")), FakeKafka(platform_topics())

    activation = _activate("v1", store=store, topics=kafka, artifacts=NONE)

    assert store.current_version == activation.version == "v1"
    assert activation.topics_created == (
        "canonical.thermo",
        "raw.fast.stream.thermo",
        "raw.slow.stream.thermo",
        "raw.standard.stream.thermo",
    )


def test_topics_of_flows_that_are_gone_stay() -> None:
    store, kafka = _store(_flow("thermo")), FakeKafka(["canonical.gone"])

    _activate("v1", store=store, topics=kafka, artifacts=NONE)

    assert "canonical.gone" in kafka.topics


def test_a_version_is_not_current_before_its_topics_exist() -> None:
    class Refusing:
        def create_missing(self, topics: Iterable[str]) -> tuple[str, ...]:
            raise TopicsNotCreatedError(tuple(topics), "Kafka refuses")

    store = _store(_flow("thermo"))

    with pytest.raises(TopicsNotCreatedError):
        _activate("v1", store=store, topics=Refusing(), artifacts=NONE)

    assert store.current_version is None


def test_a_version_that_was_never_published_changes_nothing() -> None:
    store, kafka = _store(), FakeKafka([])

    with pytest.raises(FlowsNotPublishedError):
        _activate("v2", store=store, topics=kafka, artifacts=NONE)

    assert (store.current_version, kafka.topics) == (None, {})


def test_two_flows_for_one_stream_are_refused() -> None:
    store, kafka = _store(_flow("thermo"), _flow("thermo", topic="stream")), FakeKafka([])

    with pytest.raises(FlowsRefusedError, match="several flows for stream thermo"):
        _activate("v1", store=store, topics=kafka, artifacts=NONE)

    assert (store.current_version, kafka.topics) == (None, {})


def test_a_schema_that_is_none_is_refused_whatever_published_it() -> None:
    flow = msgspec.structs.replace(_flow("thermo"), schema={"type": "array"})
    store, kafka = _store(flow), FakeKafka([])

    with pytest.raises(FlowsRefusedError, match="the schema of stream thermo is not for an event"):
        _activate("v1", store=store, topics=kafka, artifacts=NONE)

    assert (store.current_version, kafka.topics) == (None, {})


def test_an_owner_has_at_most_a_mebibyte_of_flows() -> None:
    rule = msgspec.structs.replace(_flow("thermo").parsers[0], options={"note": "x" * (1 << 20)})
    store = _store(msgspec.structs.replace(_flow("thermo"), parsers=(rule,)))

    with pytest.raises(FlowsRefusedError, match="the limit is 1048576 bytes"):
        _activate("v1", store=store, topics=FakeKafka([]), artifacts=NONE)


def test_an_owner_has_at_most_500_topics() -> None:
    kinds = tuple(f"type-{one}" for one in range(200))
    flow = _flow("thermo", topic="device_type")
    rule = msgspec.structs.replace(flow.parsers[0], device_types=kinds)
    store, kafka = _store(msgspec.structs.replace(flow, parsers=(rule,))), FakeKafka([])

    with pytest.raises(FlowsRefusedError, match="topics; the limit is 500 topics"):
        _activate("v1", store=store, topics=kafka, artifacts=NONE)

    assert kafka.topics == {}


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


def test_a_deploy_is_notified_why_its_version_is_refused() -> None:
    event = {"RequestType": "Update", "ResourceProperties": {"owners": ["acme"]}}

    with pytest.raises(FlowsNotPublishedError):
        answer(
            event, lambda _: _activate("v2", store=_store(), topics=FakeKafka([]), artifacts=NONE)
        )


def _activate(
    version: str, *, store: FakeFlows, topics: Topics, artifacts: NoArtifacts
) -> Activation:
    nobody = OwnersVersions(versions={}, returning=())
    return activate(
        version, store=store, topics=topics, artifacts=artifacts, current=None, owners=nobody
    )


def _activated(_: Sequence[str]) -> Activation:
    return Activation(version="v1", topics_created=("canonical.thermo",))


def _store(*flows: Flow) -> FakeFlows:
    store = FakeFlows(*flows)
    store.current_version = None
    return store


def _flow(stream: str, topic: str = "lane") -> Flow:
    text = f'stream = "{stream}"\nowner = "acme"\ntopic = "{topic}"\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file=f"{stream}.toml")
