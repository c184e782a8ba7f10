"""How what holds data is kept, and that a first deploy which failed can be run again."""

from aws_cdk import RemovalPolicy
from constructs import Construct

from infra.stages import Stage


def removal_of(stage: Stage) -> RemovalPolicy:
    """Kept with its stack gone; not where the deploy that made it failed: it holds nothing yet."""
    kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
    return kept if stage.keeps_data else RemovalPolicy.DESTROY


def is_protected(scope: Construct, stage: Stage) -> bool:
    """Protected once it is there: a first deploy, with ``-c first=true``, must clear up after it.

    The CDK sets the protection of a stack before it makes it, and cannot remove it then.
    """
    return stage.keeps_data and scope.node.try_get_context("first") is None
