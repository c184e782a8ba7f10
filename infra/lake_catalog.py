"""The Glue Data Catalog, as far as the lake uses it: one database and its tables."""

from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from fleetlane.events.lake_tables import NAMESPACE, TABLES

_ACTIONS: Final = (
    "glue:CreateDatabase",
    "glue:CreateTable",
    "glue:GetDatabase",
    "glue:GetTable",
    "glue:UpdateTable",
)
"""Iceberg's own: a commit is an update of the table's entry. Nothing is ever dropped."""


def grant_catalog(role: iam.Role) -> None:
    """Let ``role`` create the lake's tables, and commit to them."""
    stack = Stack.of(role)
    tables = [("table", f"{NAMESPACE}/{table.name}") for table in TABLES]
    resources = [("catalog", None), ("database", NAMESPACE), *tables]
    iam.Grant.add_to_principal(
        grantee=role,
        actions=list(_ACTIONS),
        resource_arns=[
            stack.format_arn(service="glue", resource=kind, resource_name=name)
            for kind, name in resources
        ],
    )
