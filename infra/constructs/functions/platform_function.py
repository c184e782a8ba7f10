"""A Lambda function of ours, with a role and a log group of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.artifacts.folder import Artifacts, entry_of
from infra.constructs.log_retention import retention_of
from infra.constructs.nag_suppressions import explain, explain_wildcard
from infra.stacks.network import Network

_NETWORK_ACTIONS = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
_PYTHON = "3.13 is what the jobs run too; one lock holds the dependencies of both."
_INTERFACES = "Lambda makes network interfaces by itself: they have no name before, nor we a say."


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSurroundings:
    """What all functions of a stage share. Without a network they run outside of any VPC."""

    artifacts: Artifacts
    architecture: lambda_.Architecture
    network: Network | None
    log_retention_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSize:
    """``concurrency`` is reserved: it is there for this function, and it gets no more."""

    memory_mib: int = 512
    timeout_s: int = 15
    concurrency: int | None = None


class PlatformFunction(Construct):
    """A function of ours, by its name. ``role`` starts with the right to log, and nothing else."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        surroundings: FunctionSurroundings,
        size: FunctionSize,
        environment: Mapping[str, str],
        in_network: bool,
    ) -> None:
        super().__init__(scope, name)
        network = surroundings.network if in_network else None
        group = logs.LogGroup(
            self,
            "Logs",
            retention=retention_of(surroundings.log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.role = self._role(group, in_network=network is not None)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=surroundings.architecture,
            code=lambda_.Code.from_asset(str(surroundings.artifacts.function(name))),
            handler=entry_of(name).path,
            role=self.role,
            log_group=group,
            memory_size=size.memory_mib,
            timeout=Duration.seconds(size.timeout_s),
            reserved_concurrent_executions=size.concurrency,
            environment={**environment, "POWERTOOLS_TRACE_DISABLED": "true"},
            **_placed(network),
        )
        explain(self.function, "L1", _PYTHON)

    def _role(self, group: logs.LogGroup, *, in_network: bool) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(role)
        if in_network:
            iam.Grant.add_to_principal(
                grantee=role, actions=list(_NETWORK_ACTIONS), resource_arns=["*"]
            )
            explain_wildcard(role, "*", _INTERFACES)
        return role


def _placed(network: Network | None) -> dict[str, Any]:
    if network is None:
        return {}
    return {
        "vpc": network.vpc,
        "vpc_subnets": network.private_subnets,
        "security_groups": [network.functions_group],
    }
