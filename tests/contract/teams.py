"""Two teams, each with its own policy alone; AWS is moto's."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from clients.aws import AwsSettings, s3_client
from fleetlane.events.flows.files import WantedVersion, flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources
from operations.flows.publisher import Activates, FlowPublisher

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

BUCKET = "flows"

STAGE = StageResources(
    stage="prod",
    region="us-east-1",
    api_url="https://api.example",
    kafka_bootstrap_servers="b-1:9098",
    kafka_security=KafkaSecurity.IAM,
    devices_table="devices",
    flows_bucket=BUCKET,
    overrides_bucket=BUCKET,
    payload_bucket="payloads",
    parked_bucket="parked",
    lake_bucket="lake",
    flow_activation_function="activation",
)

EVERYTHING = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
}


@dataclass(frozen=True, kw_only=True)
class Team:
    """One team's hands: its client of S3, and the commands that it runs with it."""

    s3: "S3Client"
    publisher: FlowPublisher

    def force(self, owner: str, *flows: Flow) -> None:
        """Publish as somebody who has changed the commands: nothing is checked before."""
        owned = self.publisher.owned
        owned.want(owner, WantedVersion(owned.of(owner).publish(flows)))
        self.publisher._activate([owner])


@dataclass(frozen=True, kw_only=True)
class Teams:
    """Red attacks, blue was there before; ``admin`` may do all, as the function's role may."""

    red: Team
    blue: Team
    admin: Team


@contextmanager
def aws_user(name: str, policy: Any) -> Iterator["S3Client"]:
    iam = boto3.client("iam", region_name=STAGE.region)
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    yield s3_client(
        AwsSettings(
            region_name=STAGE.region,
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
        )
    )


def team_of(s3: "S3Client", activate: Activates) -> Team:
    return Team(s3=s3, publisher=FlowPublisher(s3, BUCKET, activate))


def flow(stream: str, owner: str, *, use: str = "json", to: str | None = None) -> Flow:
    redirect = f'[canonical]\nredirects = [{{ when = "a", equals = 1, to = "{to}" }}]\n'
    text = f'stream = "{stream}"\nowner = "{owner}"\n{redirect if to else ""}'
    return flow_from_toml(f'{text}[[parsers]]\nuse = "{use}"\n', file=f"{stream}.toml")
