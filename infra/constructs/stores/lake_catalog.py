"""The Glue Data Catalog, as far as the lake uses it: one database and its tables."""

from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from fleetlane.events.lake.tables import NAMESPACE, TABLES
from fleetlane.events.lake.views import VIEW_PREFIX
from infra.constructs.nag_suppressions import suppress_wildcard

_ACTIONS: Final = (
    "glue:CreateDatabase",
    "glue:CreateTable",
    "glue:GetDatabase",
    "glue:GetTable",
    "glue:UpdateTable",
)
"""Iceberg's own: a commit is an update of the table's entry. Nothing is ever dropped."""

_VIEWS: Final = f"{NAMESPACE}/{VIEW_PREFIX}*"
_NEW_VIEWS: Final = "Flows bring views of their own, under this prefix, without a deploy."


def grant_catalog(role: iam.Role) -> None:
    """Let ``role`` create the lake's tables and its views, commit to the one, change the other."""
    stack = Stack.of(role)
    tables = [("table", f"{NAMESPACE}/{table.name}") for table in TABLES]
    resources = [("catalog", None), ("database", NAMESPACE), *tables, ("table", _VIEWS)]
    iam.Grant.add_to_principal(
        grantee=role,
        actions=list(_ACTIONS),
        resource_arns=[
            stack.format_arn(service="glue", resource=kind, resource_name=name)
            for kind, name in resources
        ],
    )
    seen = f"arn:aws:glue:{stack.region}:<AWS::AccountId>:table/{_VIEWS}"
    suppress_wildcard(role, seen, _NEW_VIEWS)
