"""One stack of a stage, and what all in it have of the stage: how long its logs and data stay."""

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.stages import Stage


class PlatformStack(Stack):
    """``fleetlane-<stage>-<name>``. One that ``holds_data`` cannot be deleted where that is kept.

    Protected once it is there: a first deploy, with ``-c first=true``, must clear up after it. The
    CDK sets the protection of a stack before it makes it, and cannot remove it then.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        description: str,
        holds_data: bool = False,
    ) -> None:
        is_first = scope.node.try_get_context("first") is not None
        self.stage = stage
        self.is_protected = holds_data and stage.keeps_data and not is_first
        super().__init__(
            scope,
            f"fleetlane-{stage.name}-{name}",
            env={"region": stage.region},
            termination_protection=self.is_protected,
            description=f"Fleetlane: {description}",
        )

    @property
    def removal(self) -> RemovalPolicy:
        """Kept with its stack gone; not where the deploy that made it failed: it is empty yet."""
        kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        return kept if self.stage.keeps_data else RemovalPolicy.DESTROY


def log_group(
    scope: Construct, name: str, *, log_group_name: str | None = None, key: kms.IKey | None = None
) -> logs.LogGroup:
    """A log group that goes with its stack, and keeps logs as long as its stage says."""
    stack = Stack.of(scope)
    assert isinstance(stack, PlatformStack), "a part of a stage"
    group = logs.LogGroup(
        scope,
        name,
        log_group_name=log_group_name,
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)
    resource.retention_in_days = stack.stage.log_retention_days  # a number; CDK's own has names
    return group


def vended_log_group(scope: Construct, name: str) -> logs.LogGroup:
    """A log group that an AWS service writes by itself, not by a role of ours.

    Names that begin otherwise are listed one by one in a resource policy of 5,120 characters.
    """
    return log_group(scope, name, log_group_name=f"/aws/vendedlogs/{scope.node.path}/{name}")
