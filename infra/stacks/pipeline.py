"""What GitHub's workflows may do in a stage's account: two roles by OIDC, and no key."""

from typing import Final

from aws_cdk import Aws, CfnOutput, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.canary import VERIFIER_ID
from fleetlane.events.lake.tables import DAILY, EVENTS, LEDGER, PARSED, RECEIVED
from fleetlane.events.stage_resources import parameter_name
from infra.constructs import rights
from infra.constructs.jobs.spark_applications import LAKE_TABLES_PREFIX
from infra.constructs.platform_stack import PlatformStack
from infra.constructs.stores.stores import Stores
from infra.stages import Stage

_ISSUER: Final = "token.actions.githubusercontent.com"
_ALARMS: Final = "An alarm's state is read by the prefix of its name; nothing can be changed."


class Pipeline(PlatformStack):
    """One role deploys and verifies, for GitHub's environment that is called as the stage.

    The other, for ``<stage>-read``, can read what would change. Both go through the roles that
    ``cdk bootstrap`` made, which are the account's: so stages that must not change each other have
    accounts of their own. GitHub's OIDC provider is the account's too, and must be there before.
    """

    def __init__(
        self, scope: Construct, *, stage: Stage, stores: Stores, alarms: sns.ITopic
    ) -> None:
        super().__init__(scope, "pipeline", stage=stage, description="the roles of its pipeline")
        deploys = self._role("Deploys", stage.name, ("deploy", "file-publishing", "lookup"))
        self._role("Reads", f"{stage.name}-read", ("lookup",))
        self._grant_verify(deploys, stores, alarms)

    def _role(self, name: str, environment: str, bootstrapped: tuple[str, ...]) -> iam.Role:
        repository = f"repo:{self.stage.pipeline_repository}:environment:{environment}"
        claims = {f"{_ISSUER}:aud": "sts.amazonaws.com", f"{_ISSUER}:sub": repository}
        role = iam.Role(
            self,
            name,
            assumed_by=iam.FederatedPrincipal(
                f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:oidc-provider/{_ISSUER}",
                {"StringEquals": claims},
                "sts:AssumeRoleWithWebIdentity",
            ),
            max_session_duration=Duration.hours(2),
        )
        ours = f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role/cdk-hnb659fds"
        where = f"role-{Aws.ACCOUNT_ID}-{self.region}"
        rights.grant(role, ["sts:AssumeRole"], [f"{ours}-{kind}-{where}" for kind in bootstrapped])
        CfnOutput(self, f"{name}RoleArn", value=role.role_arn)
        return role

    def _grant_verify(self, role: iam.Role, stores: Stores, alarms: sns.ITopic) -> None:
        """Write and remove one device of ours, and read flows, lake and alarms."""
        rights.grant_parameter(role, parameter_name(self.stage.name))
        ours = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [VERIFIER_ID]}}
        rights.grant_items(role, stores.registry, ["dynamodb:Scan"])
        changes = ["dynamodb:PutItem", "dynamodb:DeleteItem"]
        rights.grant(role, changes, [stores.registry.table_arn], conditions=ours)
        rights.grant_objects(role, stores.artifacts, rights.READ, s3_keys.FLOWS)
        rights.grant_objects(role, stores.lake, rights.READ, f"{LAKE_TABLES_PREFIX}/")
        tables = [one.name for one in (DAILY, EVENTS, LEDGER, PARSED, RECEIVED)]
        reads = ["glue:GetDatabase", "glue:GetTable"]
        rights.grant_catalog(role, reads, database=self.stage.lake_database, tables=tables)
        rights.grant(role, ["sns:ListSubscriptionsByTopic"], [alarms.topic_arn])
        rights.grant(role, ["cloudwatch:DescribeAlarms"], ["*"])
        rights.suppress_wildcard(role, "*", _ALARMS)
