"""One platform as operators' commands see it: the one on this machine, or a deployed stage."""

import getpass
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec
from botocore.exceptions import NoCredentialsError
from msgspec.structs import replace

from clients.account import AccountUnavailableError, AwsAccount
from clients.alarms import StageAlarms
from clients.aws import AwsSettings, asking, aws_client, client_config, dynamodb_table, s3_client
from clients.devices.overrides import OverridesStore
from clients.devices.sightings import DeviceSightings
from clients.refusals import Refusal, logged_refusals, stage_refusals
from clients.s3.blocked_messages import BlockedMessages
from clients.s3.upkeep_requests import UpkeepRequests
from fleetlane.events import stage_resources
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S, LakeTables, lake_tables
from operations import endpoints as laptop
from operations.devices.stores import DeviceAdministration, DeviceStores

# Imported where they are opened: Kafka, artifacts and signing take longer than most questions do.
if TYPE_CHECKING:
    from clients.devices.canary_key import CanaryKeyParameter
    from operations.flows.publisher import Activates, FlowPublisher
    from operations.messages.stores import MessageStores

    type Activation = Callable[[AwsSettings, str], Activates]


class UnknownStageError(FleetlaneError):
    """No stage of this name was deployed to the account and region."""

    stage: str
    region: str
    sentence = (
        "stage {stage} is not deployed in {region}: there is no SSM parameter"
        " /fleetlane/{stage}/resources in your credentials' account"
    )


class NoAwsCredentialsError(FleetlaneError):
    """A stage in AWS was named, and boto3 finds no credentials."""

    stage: str
    sentence = "stage {stage} needs AWS credentials: run aws configure, or set AWS_PROFILE"


class StageUnavailableError(FleetlaneError):
    """A stage's parameter, or its lake's catalog, could not be read."""

    stage: str
    problem: str
    sentence = "the resources of stage {stage} cannot be read: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Opens what a command asks for, each time it asks.

    ``aws`` is boto3's own environment, unless it says otherwise. Without a ``lake_catalog``, a
    SQLite file, the lake's catalog is AWS Glue's. ``gateway_log`` has all functions' lines, where
    no CloudWatch has them. ``activation`` makes what makes flows current, of where AWS and Kafka
    are; without it the stage's own function does.
    """

    resources: stage_resources.StageResources
    aws: AwsSettings
    lake_catalog: Path | None = None
    gateway_log: Path | None = None
    activation: "Activation | None" = None
    flows_max_age_s: int = FLOWS_MAX_AGE_S

    @classmethod
    def on_laptop(
        cls, endpoints: laptop.Endpoints, data: Path, activation: "Activation | None" = None
    ) -> Self:
        """The platform that runs on the folder ``data`` of this machine."""
        return cls(
            resources=endpoints.resources,
            aws=laptop.localstack_at(endpoints.s3, endpoints.region),
            lake_catalog=data / laptop.LAKE_CATALOG,
            gateway_log=data / laptop.GATEWAY_LOG,
            activation=activation,
            flows_max_age_s=laptop.FLOWS_MAX_AGE_S,
        )

    @classmethod
    def of_stage(cls, name: str) -> Self:
        """A deployed stage, with the credentials and the region that boto3 finds.

        Raises:
            UnknownStageError, NoAwsCredentialsError, StageUnavailableError: It cannot be looked up.
            LocalStageNotRunningError: It is ``local``, and no LocalStack runs here.
            BadStageResourcesError: Another version of Fleetlane deployed it.
        """
        if name != laptop.LOCAL_STAGE:
            aws = AwsSettings()
            return cls(resources=deployed_resources(name, aws), aws=aws)
        local = laptop.LocalStage.read(laptop.ENDPOINT_FILE)
        aws = laptop.localstack_at(local.endpoint_url, local.region)
        return cls(
            resources=replace(deployed_resources(name, aws), api_url=local.api_url),
            aws=aws,
            lake_catalog=None if local.lake_catalog is None else Path(local.lake_catalog),
        )

    @property
    def is_laptop(self) -> bool:
        return self.resources.stage == laptop.LAPTOP

    @property
    def operator_host(self) -> stage_resources.OperatorHost | None:
        """What runs commands near Kafka; ``None`` where nothing does, or nothing has to."""
        if self.is_laptop:
            return None
        name = stage_resources.operator_host_name(self.resources.stage)
        with asking(StageUnavailableError, self.resources.stage):
            ssm = aws_client("ssm", self.aws)
            try:
                found = ssm.get_parameter(Name=name)
            except ssm.exceptions.ParameterNotFound:
                return None
        return msgspec.json.decode(found["Parameter"]["Value"], type=stage_resources.OperatorHost)

    @property
    def registry(self) -> DeviceAdministration:
        table = dynamodb_table(self.aws, self.resources.devices_table, config=client_config())
        return DeviceAdministration(table)

    @property
    def devices(self) -> DeviceStores:
        table = dynamodb_table(self.aws, self.resources.devices_table, config=client_config())
        return DeviceStores(
            registry=DeviceAdministration(table),
            sightings=DeviceSightings(table),
            overrides=OverridesStore(s3_client(self.aws), self.resources.overrides_bucket),
        )

    @property
    def canary_key(self) -> "CanaryKeyParameter":
        """Of a deployed stage: a laptop has no Systems Manager."""
        from clients.devices.canary_key import CanaryKeyParameter  # noqa: PLC0415

        ssm = aws_client("ssm", self.aws)
        return CanaryKeyParameter(ssm, stage_resources.canary_key_name(self.resources.stage))

    @property
    def alarms(self) -> StageAlarms:
        """Of a deployed stage."""
        return StageAlarms(
            cloudwatch=aws_client("cloudwatch", self.aws),
            sns=aws_client("sns", self.aws),
            prefix=f"fleetlane-{self.resources.stage}-",
        )

    def refusals(self, from_ms: int, to_ms: int) -> Mapping[Refusal, int]:
        """Messages by why, and of whom, they were refused; raises ``RefusalsUnavailableError``."""
        if self.gateway_log is not None:
            return logged_refusals(self.gateway_log, from_ms, to_ms)
        logs, groups = aws_client("logs", self.aws), self.resources.answering_logs
        return stage_refusals(logs, groups, from_ms, to_ms)

    @property
    def messages(self) -> "MessageStores":
        from operations.messages.stores import MessageStores  # noqa: PLC0415

        return MessageStores(resources=self.resources, aws=self.aws)

    @property
    def blocked_messages(self) -> BlockedMessages:
        return BlockedMessages(s3_client(self.aws), self.resources.parked_bucket)

    @property
    def publisher(self) -> "FlowPublisher":
        from operations.flows.publisher import FlowPublisher, activate_by_function  # noqa: PLC0415

        aws, resources = self.aws, self.resources
        return FlowPublisher(
            s3_client(self.aws),
            resources.flows_bucket,
            partial(activate_by_function, aws, resources.flow_activation_function)
            if self.activation is None
            else self.activation(aws, resources.kafka_bootstrap_servers),
            flows_max_age_s=self.flows_max_age_s,
            published_by=self._user,
        )

    def _user(self) -> str:
        """Who acts here, for people to read; empty where that cannot be found out."""
        with suppress(OSError, AccountUnavailableError):
            if self.aws.endpoint_url is None:
                return AwsAccount(self.resources.region).caller()
            return getpass.getuser()
        return ""

    @property
    def upkeep_requests(self) -> Mapping[LakeTables, UpkeepRequests]:
        """What is asked of the lake's job, by the tables that it writes here."""
        s3, bucket = s3_client(self.aws), self.resources.lake_bucket
        written = lake_tables(self.resources.raw_archive_days)
        return {tables: UpkeepRequests(s3, bucket, tables) for tables in written}


def deployed_resources(stage: str, aws: AwsSettings) -> stage_resources.StageResources:
    """What the deploy wrote of a stage; raises as ``Platform.of_stage``."""
    with asking(StageUnavailableError, stage):
        ssm = aws_client("ssm", aws)
        try:
            found = ssm.get_parameter(Name=stage_resources.parameter_name(stage))
        except NoCredentialsError:
            raise NoAwsCredentialsError(stage) from None
        except ssm.exceptions.ParameterNotFound:
            raise UnknownStageError(stage, ssm.meta.region_name) from None
    return stage_resources.StageResources.from_json(found["Parameter"]["Value"])
