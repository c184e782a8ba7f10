"""The operators' machine: inside the network, without an open port, reached by Session Manager."""

import json
from pathlib import Path
from string import Template
from typing import Final

import msgspec
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.lake.tables import RAW
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.stage_resources import OperatorHost, operator_host_name, parameter_name
from fleetlane.events.topics import PARKED, RawTopic
from infra.artifacts.folder import PYTHON
from infra.constructs import rights
from infra.constructs.functions.function import FunctionContext
from infra.constructs.jobs.spark_applications import LAKE_TABLES_PREFIX
from infra.constructs.kafka import access
from infra.constructs.platform_stack import PlatformStack
from infra.constructs.stores.stores import Stores

MACHINE: Final = "t3.medium"
"""As much memory as reading topics takes; x86, as the jobs' packages are built for."""

_HOME: Final = "/opt/fleetlane"
_SESSION: Final = Path(__file__).with_name("session.json")
"""A document of Session Manager: its sessions run a command of ours, and nothing else."""

_READ_DELETE: Final = (*rights.READ, "s3:DeleteObject")
_AGENT: Final = (
    *("ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel"),
    *("ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel"),
    "ssmmessages:OpenDataChannel",
)


class Operators(PlatformStack):
    """One machine, replaced when its code changes; who may start sessions with it is IAM's matter.

    A session runs a command of ours as the machine's role, and is in CloudTrail by its user's name.
    """

    def __init__(self, scope: Construct, *, context: FunctionContext) -> None:
        stage, network, kafka = context.stage, context.network, context.kafka.access
        assert network is not None, "a stage in AWS has a network"
        assert kafka is not None, "and rights on topics"
        super().__init__(scope, "operators", stage=stage, description="the operators' machine")
        self._role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
        self._grant_kafka(kafka)
        self._grant_stores(context.stores)
        code = assets.Asset(self, "Code", path=str(context.artifacts.operators()))
        disk = ec2.BlockDeviceVolume.ebs(20, encrypted=True)
        machine = ec2.Instance(
            self,
            "Machine",
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=network.subnets[:1]),
            security_group=network.operators_group,
            instance_type=ec2.InstanceType(MACHINE),
            machine_image=ec2.MachineImage.latest_amazon_linux2023(),
            role=self._role,
            require_imdsv2=True,
            detailed_monitoring=True,
            block_devices=[ec2.BlockDevice(device_name="/dev/xvda", volume=disk)],
            user_data=self._user_data(code),
            user_data_causes_replacement=True,
        )
        rights.suppress(machine, "It holds nothing: a deploy of other code replaces it.", "EC29")
        text = Template(_SESSION.read_text())
        content = json.loads(text.substitute(home=_HOME, python=PYTHON, region=stage.region))
        document = ssm.CfnDocument(self, "Session", content=content, document_type="Session")
        found = OperatorHost(instance=machine.instance_id, document=document.ref)
        ssm.StringParameter(
            self,
            "Host",
            parameter_name=operator_host_name(stage.name),
            string_value=msgspec.json.encode(found).decode(),
        )

    def _user_data(self, code: assets.Asset) -> ec2.UserData:
        """Unpack the code where root alone may write, compiled: a command starts in a second."""
        code.grant_read(self._role)
        bucket = f"arn:aws:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-{self.region}/*"
        reason = "CDK's own bucket of uploads; the machine reads its code there as it starts."
        rights.suppress_wildcard(self._role, bucket, reason)
        actions = ("s3:GetBucket*", "s3:GetObject*", "s3:List*")
        rights.suppress(self._role, reason, *(f"IAM5[Action::{one}]" for one in actions))
        data, archive, python = ec2.UserData.for_linux(), f"{_HOME}.zip", f"{_HOME}/{PYTHON}"
        data.add_s3_download_command(
            bucket=code.bucket,
            bucket_key=code.s3_object_key,
            local_file=archive,
            region=self.region,
        )
        data.add_commands(
            f"python3 -m zipfile -e {archive} {_HOME}",
            f"chmod +x {python}",
            f"{python} -m compileall -q {_HOME}",
        )
        return data

    def _grant_kafka(self, kafka: access.KafkaAccess) -> None:
        """What commands read, and the topics that a replay lands in."""
        replayed = (RawTopic(lane=Lane.BULK, cause=BulkCause.REPLAYED), RawTopic(lane=Lane.SLOW))
        events = (access.CANONICAL_TOPICS, access.UNIQUE_TOPICS)
        topics = (access.RAW_TOPICS, PARKED, *events, access.FLEET_TOPICS)
        kafka.grant_read(self._role, topics, joins_groups=False)
        kafka.grant_write(self._role, tuple(map(str, replayed)))
        kafka.grant_see_mirrored(self._role)

    def _grant_stores(self, stores: Stores) -> None:
        """A replay from the archive brings bodies back, an erasure deletes them."""
        role = self._role
        rights.grant(role, _AGENT, ["*"])
        rights.suppress_wildcard(role, "*", "The agent's own calls have no resources to name.")
        rights.grant_parameter(role, parameter_name(self.stage.name))
        rights.grant_objects(role, stores.payloads, _READ_DELETE)
        rights.grant_objects(role, stores.payloads, rights.WRITE, s3_keys.PAYLOADS)
        rights.grant_objects(role, stores.parked, _READ_DELETE, s3_keys.PARKED_PAYLOADS)
        rights.grant_objects(role, stores.artifacts, rights.READ, s3_keys.FLOWS)
        rights.grant_objects(role, stores.artifacts, rights.READ_WRITE, s3_keys.OVERRIDES)
        archived = (f"{LAKE_TABLES_PREFIX}/", s3_keys.ARCHIVED_BODIES, s3_keys.UPKEEP_ANSWERS)
        rights.grant_objects(role, stores.lake, rights.READ, *archived)
        rights.grant_objects(role, stores.lake, rights.READ_WRITE, s3_keys.UPKEEP_REQUESTS)
        rights.grant_items(role, stores.registry, ["dynamodb:GetItem", "dynamodb:DeleteItem"])
        reads, database = ["glue:GetDatabase", "glue:GetTable"], self.stage.lake_database
        rights.grant_catalog(role, reads, database=database, tables=[RAW.name])
