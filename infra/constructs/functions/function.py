"""A Lambda function of ours, with a role and a log group of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fleetlane.events.metrics import namespace_of
from infra.artifacts.folder import Artifacts, entry_of
from infra.constructs.kafka.access import KafkaEndpoint
from infra.constructs.network import PrivateNetwork
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import grant, suppress, suppress_wildcard
from infra.constructs.stores.stores import Stores
from infra.stages import Stage

_NETWORK_ACTIONS = (
    *("ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses", "ec2:DescribeSubnets"),
    *("ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces"),
)
_PYTHON = "The jobs run 3.13 too; one lock has the dependencies of both."
_NAMELESS = "Lambda creates and names its network interfaces itself; traces have no names."

ANSWERS_DEVICES = frozenset({"ingest", "uploads", "authorizer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """What all functions of a stage share. Without a network they run outside of any VPC."""

    stage: Stage
    artifacts: Artifacts
    architecture: lambda_.Architecture
    network: PrivateNetwork | None
    stores: Stores
    kafka: KafkaEndpoint

    @property
    def device_settings(self) -> Mapping[str, str]:
        """The environment of a function that decides which devices may send how much."""
        return {
            "OVERRIDES_BUCKET": self.stores.artifacts.bucket_name,
            "SOFT_RATE_LIMIT_PER_MINUTE": str(self.stage.soft_rate_limit_per_minute),
            "HARD_RATE_LIMIT_PER_MINUTE": str(self.stage.hard_rate_limit_per_minute),
            "SOFT_RATE_LIMIT_BYTES_PER_MINUTE": str(self.stage.soft_rate_limit_bytes_per_minute),
            "HARD_RATE_LIMIT_BYTES_PER_MINUTE": str(self.stage.hard_rate_limit_bytes_per_minute),
            "REGISTRY_TABLE": self.stores.registry.table_name,
        }

    def reserved(self, concurrency: int) -> int | None:
        """A laptop reserves no concurrency."""
        return concurrency if self.stage.is_cloud else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSize:
    """``concurrency`` is reserved: guaranteed to this function, and its maximum."""

    memory_mib: int = 512
    timeout_s: int = 15
    concurrency: int | None = None


class PlatformFunction(Construct):
    """A function of ours, by its name. At first ``role`` may write logs, and nothing else.

    One that answers devices has no lines of Lambda's own about each call in its log: they would
    cost as much as our own line does. It is traced where its stage traces requests.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        context: FunctionContext,
        size: FunctionSize,
        environment: Mapping[str, str],
        in_network: bool = True,
    ) -> None:
        super().__init__(scope, name)
        network = context.network if in_network else None
        is_quiet = name in ANSWERS_DEVICES and context.stage.is_cloud
        is_traced = name in ANSWERS_DEVICES and context.stage.has_tracing
        group = log_group(self, "Logs")
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(self.role)
        if network is not None:
            grant(self.role, _NETWORK_ACTIONS, ["*"])
        if network is not None or is_traced:
            suppress_wildcard(self.role, "*", _NAMELESS)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=context.architecture,
            code=lambda_.Code.from_asset(str(context.artifacts.function(name))),
            handler=entry_of(name),
            role=self.role,
            log_group=group,
            memory_size=size.memory_mib,
            timeout=Duration.seconds(size.timeout_s),
            reserved_concurrent_executions=size.concurrency,
            environment={
                **environment,
                "POWERTOOLS_TRACE_DISABLED": "true",
                "POWERTOOLS_METRICS_NAMESPACE": namespace_of(context.stage.name),
            },
            tracing=lambda_.Tracing.ACTIVE if is_traced else None,
            # Levels are known of this format alone.
            logging_format=lambda_.LoggingFormat.JSON if is_quiet else None,
            system_log_level_v2=lambda_.SystemLogLevel.WARN if is_quiet else None,
            vpc=network.vpc if network else None,
            vpc_subnets=ec2.SubnetSelection(subnets=network.subnets) if network else None,
            security_groups=[network.functions_group] if network else None,
        )
        suppress(self.function, _PYTHON, "L1")
