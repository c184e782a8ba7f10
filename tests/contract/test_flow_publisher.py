"""Publishing beside other teams, and rolling back; S3 is moto's."""

from collections.abc import Iterator
from copy import replace
from pathlib import Path

import pytest

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from lambdas.flow_activation.service import FlowsRefusedError
from local.flow_activation import publish_new_flows
from operations.flows.publisher import (
    FlowPublisher,
    NotDeployedError,
    NothingBeforeError,
    StreamTakenError,
)
from tests.flow_publisher import flow_publisher
from tests.team_artifacts import team_artifact


@pytest.fixture
def publisher() -> Iterator[FlowPublisher]:
    with flow_publisher() as found:
        yield found


def flow(stream: str, owner: str, use: str = "json") -> Flow:
    text = f'stream = "{stream}"\nowner = "{owner}"\n[[parsers]]\nuse = "{use}"\n'
    return flow_from_toml(text, file=f"{stream}.toml")


def streams(publisher: FlowPublisher) -> list[str]:
    current = publisher.current()
    assert current is not None
    return sorted(current.by_stream)


def test_a_publication_replaces_all_flows_of_its_owners_and_no_other(
    publisher: FlowPublisher,
) -> None:
    publisher.publish([flow("a", "red"), flow("b", "red"), flow("c", "blue")])

    publisher.publish_owners([flow("b", "red"), flow("d", "red")])

    assert streams(publisher) == ["b", "c", "d"]


def test_the_artifacts_of_others_stay_named(publisher: FlowPublisher, tmp_path: Path) -> None:
    publisher.parsers.deploy(team_artifact(tmp_path, "tank==1.0"), owner="blue")
    publisher.publish([flow("tank", "blue", "tank==1.0")])
    before = publisher.flows.current().artifacts

    publisher.publish_owners([flow("a", "red")])

    assert publisher.flows.current().artifacts == before


def test_a_stream_of_another_owner_is_not_taken(publisher: FlowPublisher) -> None:
    publisher.publish([flow("a", "red"), flow("c", "blue")])

    with pytest.raises(StreamTakenError, match="stream c belongs to blue; red has a flow"):
        publisher.publish_owners([flow("c", "red")])

    assert streams(publisher) == ["a", "c"]


def test_a_parser_that_nobody_deployed_is_named_with_the_commands(publisher: FlowPublisher) -> None:
    with pytest.raises(NotDeployedError, match=r"parser deploy FILE\.zip --owner blue"):
        publisher.publish([flow("tank", "blue", "tank==1.0")])

    assert publisher.flows.in_force() is None


@pytest.mark.parametrize("owner", [None, "red"])
def test_to_roll_back_twice_goes_two_versions_back(
    publisher: FlowPublisher, owner: str | None
) -> None:
    first, second, _ = (publisher.publish([flow(name, "red")]) for name in "abc")

    rolled_back = [publisher.roll_back(owner), publisher.roll_back(owner)]

    assert rolled_back == [(second, 1), (first, 2)]
    assert streams(publisher) == ["a"]
    with pytest.raises(NothingBeforeError):
        publisher.roll_back(owner)


@pytest.mark.parametrize("owner", [None, "red"])
def test_what_was_rolled_back_is_skipped_once_another_is_published(
    publisher: FlowPublisher, owner: str | None
) -> None:
    for name in "ab":
        publisher.publish([flow(name, "red")])
    publisher.roll_back(owner)
    publisher.publish([flow("c", "red")])

    publisher.roll_back(owner)

    assert streams(publisher) == ["a"]


def test_what_was_rolled_back_and_published_again_is_a_version_like_any(
    publisher: FlowPublisher,
) -> None:
    for name in "ab":
        publisher.publish([flow(name, "red"), flow("x", "blue")])
    publisher.roll_back()
    for name in "bc":
        publisher.publish_owners([flow(name, "red")])

    publisher.roll_back()

    assert streams(publisher) == ["b", "x"]


def test_a_refused_rollback_is_no_rollback(publisher: FlowPublisher) -> None:
    publisher.publish([flow("a", "red")])
    publisher.publish([flow("b", "red"), flow("c", "blue")])
    publisher.publish_owners([flow("d", "red")])
    publisher.publish_owners([flow("b", "blue")])

    with pytest.raises(FlowsRefusedError):
        publisher.roll_back("red")

    assert publisher.rolled_back(["red"]) == {"red": ()}


def test_where_nothing_was_before_there_is_nothing_to_roll_back(publisher: FlowPublisher) -> None:
    publisher.publish([flow("a", "red")])

    with pytest.raises(NothingBeforeError):
        publisher.roll_back()


def test_a_refused_version_leaves_what_is_in_force(publisher: FlowPublisher) -> None:
    publisher.publish([flow("a", "red")])
    broken = publisher.flows.publish([flow("tank", "blue", "tank==1.0")])

    with pytest.raises(FlowsRefusedError):
        publisher.activate(broken)

    assert streams(publisher) == ["a"]


def test_flows_that_were_in_force_before_do_not_replace_what_came_since(
    publisher: FlowPublisher,
) -> None:
    checkout = {"a": flow("a", "red")}
    publish_new_flows(checkout, publisher)
    publisher.publish_owners([flow("b", "blue")])

    in_force = publish_new_flows(checkout, publisher)

    assert sorted(in_force) == streams(publisher) == ["a", "b"]


def test_flows_that_were_never_in_force_are_put_into_force(publisher: FlowPublisher) -> None:
    publish_new_flows({"a": flow("a", "red")}, publisher)

    publish_new_flows({"c": flow("c", "red")}, publisher)

    assert streams(publisher) == ["c"]


def test_all_versions_are_listed(publisher: FlowPublisher) -> None:
    published = [publisher.publish([flow(name, "red")]) for name in "ab"]

    listed = {version for version, _ in publisher.flows.versions()}

    assert listed == set(published)


def described(stream: str, *properties: str) -> Flow:
    texts = {name: {"type": "string"} for name in properties}
    return replace(flow(stream, "red"), schema={"type": "object", "properties": texts})


def test_a_schema_that_breaks_its_readers_is_refused(publisher: FlowPublisher) -> None:
    publisher.publish([described("a", "x", "y")])

    with pytest.raises(FlowsRefusedError, match="stream a: schema: property `y` was removed"):
        publisher.publish_owners([described("a", "x")])

    assert publisher.flows.current().by_stream["a"] == described("a", "x", "y")


def test_a_schema_may_grow_and_what_was_before_may_come_back(publisher: FlowPublisher) -> None:
    first = publisher.publish([described("a", "x")])
    publisher.publish([described("a", "x", "y")])

    assert publisher.roll_back() == (first, 1)


def test_one_owner_goes_back_and_the_others_stay(publisher: FlowPublisher) -> None:
    publisher.publish_owners([flow("a", "red")])
    publisher.publish_owners([flow("b", "red")])
    publisher.publish_owners([flow("c", "blue")])

    publisher.roll_back("red")

    assert streams(publisher) == ["a", "c"]


def test_flows_that_were_in_force_before_owners_had_a_place_can_come_back(
    publisher: FlowPublisher,
) -> None:
    flows = publisher.flows
    flows.make_current(flows.publish([flow("a", "red"), flow("c", "blue")]))
    publisher.publish_owners([flow("b", "red")])

    publisher.roll_back("red")

    assert streams(publisher) == ["a", "c"]


def test_an_owner_whose_version_is_refused_wants_what_it_had(publisher: FlowPublisher) -> None:
    publisher.publish([described("a", "x", "y")])
    wanted = publisher.owned.wanted("red")

    with pytest.raises(FlowsRefusedError):
        publisher.publish_owners([described("a", "x")])

    assert publisher.owned.wanted("red") == wanted


def test_a_refused_first_publication_holds_up_no_other_owner(publisher: FlowPublisher) -> None:
    with pytest.raises(FlowsRefusedError):
        publisher.publish_owners([replace(flow("a", "red"), schema={"type": "array"})])

    publisher.publish_owners([flow("b", "blue")])

    assert streams(publisher) == ["b"]


def test_a_refused_version_leaves_an_owner_what_it_had_before_owners_had_a_place(
    publisher: FlowPublisher,
) -> None:
    flows = publisher.flows
    flows.make_current(flows.publish([flow("a", "red")]))
    with pytest.raises(FlowsRefusedError):
        publisher.publish_owners([replace(flow("b", "red"), schema={"type": "array"})])

    publisher._activate(["red"])

    assert streams(publisher) == ["a"]


def test_an_owner_of_any_name_has_a_place_of_its_own(publisher: FlowPublisher) -> None:
    publisher.publish_owners([flow("a", "Red & Co / east")])
    publisher.publish_owners([flow("b", "Red & Co ")])

    assert streams(publisher) == ["a", "b"]
    assert set(publisher.owned.owners()) == {"Red & Co / east", "Red & Co "}


def test_where_the_version_in_force_cannot_be_read_it_is_made_anew_of_all_owners(
    publisher: FlowPublisher,
) -> None:
    publisher.publish([flow("a", "red"), flow("c", "blue")])
    publisher.flows._objects.put("flows/current.json", b"no flows")

    publisher.publish_owners([flow("b", "red")])

    assert streams(publisher) == ["b", "c"]
