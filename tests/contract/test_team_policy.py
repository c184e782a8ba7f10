"""A team with its own policy alone, against another team's flows and parsers; AWS is moto's.

Moto evaluates actions and resources; the policy's conditions have a test of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import boto3
import msgspec
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core.authorization import enable_iam_authentication

from clients.flows.parser_store import ArtifactUnavailableError
from clients.flows.store import FlowsUnavailableError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import WantedVersion
from fleetlane.events.flows.flow import Flow
from fleetlane.events.names import BadNameError
from fleetlane.events.s3_keys import CURRENT_FLOWS_KEY, owners_version_key, wanted_key
from lambdas.flow_activation.service import FlowsRefusedError, activate_owners
from operations.flows.publisher import StreamTakenError
from operations.flows.team_policy import team_policy
from tests.contract.teams import BUCKET, EVERYTHING, STAGE, Team, Teams, aws_user, flow, team_of
from tests.team_artifacts import team_artifact
from tests.unit.lambdas.fakes import FakeKafka


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    with (
        mock_aws(),
        aws_user("admin", EVERYTHING) as admin,
        aws_user("red", team_policy("red", STAGE)) as red,
        aws_user("blue", team_policy("blue", STAGE)) as blue,
    ):
        boto3.client("s3", region_name=STAGE.region).create_bucket(Bucket=BUCKET)

        def activate(owners: Sequence[str]) -> str:
            return activate_owners(owners, s3=admin, bucket=BUCKET, topics=FakeKafka([])).version

        with enable_iam_authentication():
            of_blue = team_of(blue, activate)
            of_blue.publisher.parsers.deploy(team_artifact(tmp_path, "tank==1.0"), owner="blue")
            of_blue.publisher.publish_owners([flow("door", "blue")])
            of_blue.publisher.publish_owners(
                [flow("door", "blue", to="alarms"), flow("tank", "blue", use="tank==1.0")]
            )
            of_red = team_of(red, activate)
            of_red.publisher.publish_owners([flow("hall", "red")])
            yield Teams(red=of_red, blue=of_blue, admin=team_of(admin, activate))


def _is_denied(attack: Callable[[], object]) -> bool:
    with pytest.raises((FlowsUnavailableError, ArtifactUnavailableError, ClientError)) as refused:
        attack()
    return "AccessDenied" in str(refused.value)


def test_each_team_publishes_and_rolls_back_by_its_own_policy(teams: Teams) -> None:
    red, blue = teams.red.publisher, teams.blue.publisher
    red.publish_owners([flow("garage", "red")])

    red.roll_back("red")

    assert sorted(red.flows.current().by_stream) == ["door", "hall", "tank"]
    wanted = blue.owned.wanted("blue")
    assert wanted is not None
    assert blue.flows.current().owners["blue"][0] == wanted.version


WRITES = (
    owners_version_key("blue", "0" * 16),
    wanted_key("blue"),
    wanted_key("red2"),
    CURRENT_FLOWS_KEY,
    "flows/versions/0000000000000000.json",
    "parsers/blue/tank/1.0.zip",
    "parsers/red2/tank/1.0.zip",
    "overrides/current.json",
    "jobs/code.zip",
)


@pytest.mark.parametrize("key", WRITES)
def test_a_team_writes_nothing_outside_of_its_own_places(teams: Teams, key: str) -> None:
    assert _is_denied(lambda: teams.red.s3.put_object(Bucket=BUCKET, Key=key, Body=b"{}"))


@pytest.mark.parametrize("key", [*WRITES, wanted_key("red")])
def test_a_team_deletes_nothing_at_all(teams: Teams, key: str) -> None:
    assert _is_denied(lambda: teams.red.s3.delete_object(Bucket=BUCKET, Key=key))


def test_a_team_reads_no_other_teams_parsers(teams: Teams) -> None:
    key = "parsers/blue/tank/1.0.zip"

    assert _is_denied(lambda: teams.red.s3.get_object(Bucket=BUCKET, Key=key))


def _changes_door(red: Team, _: Path) -> None:
    red.publisher.publish_owners([flow("door", "blue", use="csv")])


def _goes_back_for_blue(red: Team, _: Path) -> None:
    red.publisher.roll_back("blue")


def _goes_back_for_all(red: Team, _: Path) -> None:
    red.publisher.roll_back()


def _removes_all_others(red: Team, _: Path) -> None:
    red.publisher.publish([flow("hall", "red")])


def _makes_a_version_current(red: Team, _: Path) -> None:
    red.publisher.flows.make_current(red.publisher.flows.current().before[0])


def _deploys_for_blue(red: Team, folder: Path) -> None:
    red.publisher.parsers.deploy(team_artifact(folder, "tank==2.0"), owner="blue")


@pytest.mark.parametrize(
    "attack",
    [
        _changes_door,
        _goes_back_for_blue,
        _goes_back_for_all,
        _removes_all_others,
        _makes_a_version_current,
        _deploys_for_blue,
    ],
)
def test_no_command_changes_another_teams_flows(
    teams: Teams, attack: Callable[[Team, Path], None], tmp_path: Path
) -> None:
    before = teams.admin.publisher.flows.current()

    assert _is_denied(lambda: attack(teams.red, tmp_path))

    teams.red.publisher._activate(["red", "blue"])
    assert teams.admin.publisher.flows.current().flows == before.flows


def _forced(*flows: Flow) -> Callable[[Team], None]:
    return lambda red: red.force("red", *flows)


def _names_blues_artifact(red: Team) -> None:
    owned, theirs = red.publisher.owned, red.publisher.flows.current().artifacts
    version = owned.of("red").publish([flow("hall", "red")], theirs)
    owned.want("red", WantedVersion(version))
    red.publisher._activate(["red"])


def _alters_a_version(red: Team) -> None:
    owned = red.publisher.owned
    version = owned.of("red").publish([flow("hall", "red", use="csv")])
    altered = msgspec.structs.replace(
        owned.of("red").published(version), flows=(flow("hall", "red", use="cbor"),)
    )
    key = owners_version_key("red", version)
    red.s3.put_object(Bucket=BUCKET, Key=key, Body=altered.to_json())
    owned.want("red", WantedVersion(version))
    red.publisher._activate(["red"])


def _wants_a_path(red: Team) -> None:
    red.publisher.owned.want("red", WantedVersion("../../blue/versions/0000000000000000"))
    red.publisher._activate(["red"])


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (_forced(flow("door", "red")), "stream door is blue's; a flow of red names it too"),
        (_forced(flow("door", "blue")), "the flow of stream door is blue's, and lies below flows/"),
        (_forced(flow("alarms", "red")), "topic canonical.alarms is blue's; a flow of red names"),
        (_forced(flow("hall", "red", to="door")), "topic canonical.door is blue's; a flow of red"),
        (_forced(flow("hall", "red", to="alarms")), "topic canonical.alarms is blue's"),
        (_forced(flow("hall", "red", use="tank==9.9")), "parser tank is blue's; a flow of red"),
        (_forced(flow("hall", "red", to="hall")), "redirect to a name that no flow has"),
        (_names_blues_artifact, "the artifact of parser tank==1.0 is blue's, and lies below"),
        (_alters_a_version, "its content is version "),
        (_wants_a_path, "it was never published"),
    ],
)
def test_activation_refuses_what_is_another_teams_with_a_sentence(
    teams: Teams, attack: Callable[[Team], None], sentence: str
) -> None:
    before = teams.admin.publisher.flows.current()

    with pytest.raises(FlowsRefusedError) as refused:
        attack(teams.red)

    assert sentence in str(refused.value)
    assert teams.admin.publisher.flows.current() == before


def test_the_command_says_whose_a_stream_is_before_anything_is_written(teams: Teams) -> None:
    with pytest.raises(StreamTakenError, match="stream door belongs to blue; red has a flow"):
        teams.red.publisher.publish_owners([flow("door", "red")])


def test_what_collided_before_there_were_checks_stays_in_force(teams: Teams) -> None:
    flows = teams.admin.publisher.flows
    old = [flow("hall", "red", to="shared"), flow("yard", "green", to="shared")]
    flows.make_current(flows.publish(old))

    teams.red.publisher.publish_owners([flow("hall", "red", to="shared", use="csv")])

    assert flows.current().by_stream["hall"].parsers[0].use == "csv"


def test_a_published_version_is_never_replaced(teams: Teams) -> None:
    owned = teams.red.publisher.owned
    version = owned.of("red").publish([flow("hall", "red", use="csv")])
    teams.red.s3.put_object(
        Bucket=BUCKET, Key=owners_version_key("red", version), Body=b'{"flows": []}'
    )

    with pytest.raises(FleetlaneError, match="other content has this version's name, and stays"):
        owned.of("red").publish([flow("hall", "red", use="csv")])


def test_a_policy_lets_versions_and_parsers_be_put_only_where_nothing_is() -> None:
    statements = team_policy("red", STAGE)["Statement"]

    puts = [one for one in statements if one["Action"] == "s3:PutObject"]

    assert [(one["Resource"], one.get("Condition")) for one in puts] == [
        (
            [
                f"arn:aws:s3:::{BUCKET}/flows/owners/red/versions/*",
                "arn:aws:s3:::flows/parsers/red/*",
            ],
            {"Null": {"s3:if-none-match": "false"}},
        ),
        ([f"arn:aws:s3:::{BUCKET}/flows/owners/red/wanted.json"], None),
    ]


@pytest.mark.parametrize("name", ["*", "red/*", "", "Red", "re?", "${aws:username}"])
def test_a_name_that_would_widen_a_policy_is_refused(name: str) -> None:
    with pytest.raises(BadNameError):
        team_policy(name, STAGE)
