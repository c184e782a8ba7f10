"""What a role may do, and suppressed findings of cdk-nag, each with its reason."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Acknowledgment, Resource, Stack, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

BASIC_LAMBDA_POLICY: Final = (
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]"
)


def grant(
    role: iam.Role,
    actions: Sequence[str],
    arns: Sequence[str],
    *,
    conditions: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    iam.Grant.add_to_principal(
        grantee=role, actions=list(actions), resource_arns=list(arns), conditions=conditions
    )


def suppress(construct: IConstruct, reason: str, *rules: str) -> None:
    """Acknowledge ``rules`` of the AWS Solutions pack on ``construct`` and all within it."""
    for rule in rules:
        finding = Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason)
        Validations.of(construct).acknowledge(finding)


def suppress_wildcard(role: iam.Role, resource: str, reason: str) -> None:
    """Acknowledge one resource of ``role``'s own policy that has a ``*`` in it."""
    suppress(role, reason, f"IAM5[Resource::{resource}]")


def seen_arn(owner: Resource, arn: str, *, reader: IConstruct) -> str:
    """How cdk-nag writes ``owner``'s ARN in a policy of ``reader``'s stack."""
    stack = Stack.of(owner)
    if stack is Stack.of(reader):
        logical_id = stack.resolve(arn)["Fn::GetAtt"][0]
        return f"<{logical_id}.Arn>"
    return str(stack.resolve(stack.export_value(arn))["Fn::ImportValue"])


def role_of_caller(
    scope: Construct, name: str, *, called: lambda_.Function, group: logs.LogGroup
) -> iam.Role:
    """A role for a function of CDK's own, which lets it call ``called``."""
    role = iam.Role(scope, name, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    group.grant_write(role)
    suppress_versions(role, called)
    return role


def suppress_versions(caller: IConstruct, called: lambda_.Function) -> None:
    seen = seen_arn(called, called.function_arn, reader=caller)
    reason = "All versions of one function; CDK may call any of them."
    suppress(caller, reason, f"IAM5[Resource::{seen}:*]")


READ: Final = ("s3:GetObject",)
WRITE: Final = ("s3:PutObject", "s3:AbortMultipartUpload")
READ_WRITE: Final = (*READ, *WRITE)
EVERY: Final = (*READ_WRITE, "s3:DeleteObject")
_KEYS: Final = (
    "The objects of this prefix are named for their messages, flows, overrides or checkpoints."
)


def grant_objects(
    role: iam.Role, bucket: s3.Bucket, actions: Sequence[str], *prefixes: str
) -> None:
    """Let ``role`` do ``actions`` with objects, those under ``prefixes`` if any are given.

    It may use the bucket's key, and list the bucket: S3 says only then that an object is missing.
    """
    for prefix in prefixes or ("",):
        grant(role, actions, [bucket.arn_for_objects(f"{prefix}*")])
        grant(role, ["s3:ListBucket"], [bucket.bucket_arn])
        seen = seen_arn(bucket, bucket.bucket_arn, reader=role)
        suppress_wildcard(role, f"{seen}/{prefix}*", _KEYS)
    _grant_key(role, bucket.encryption_key)


def grant_items(
    role: iam.Role,
    table: dynamodb.Table,
    actions: Sequence[str],
    *,
    attributes: Sequence[str] | None = None,
) -> None:
    """Let ``role`` do ``actions`` with items; with ``attributes`` touch no others, return none."""
    limits: Mapping[str, Mapping[str, object]] = {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": list(attributes or ())},
        "StringEqualsIfExists": {"dynamodb:ReturnValues": "NONE"},
    }
    grant(role, actions, [table.table_arn], conditions=limits if attributes else None)
    _grant_key(role, table.encryption_key)


def grant_catalog(
    role: iam.Role, actions: Sequence[str], *, database: str, tables: Sequence[str]
) -> None:
    """Let ``role`` do ``actions`` with tables of Glue's catalog, and what contains them."""
    named = [("table", f"{database}/{one}") for one in tables]
    arns = [
        Stack.of(role).format_arn(service="glue", resource=kind, resource_name=name)
        for kind, name in (("catalog", None), ("database", database), *named)
    ]
    grant(role, actions, arns)


def grant_parameter(role: iam.Role, name: str) -> None:
    """Let ``role`` read a parameter; who may, in its account, has it decrypted too."""
    arn = Stack.of(role).format_arn(service="ssm", resource="parameter", resource_name=name[1:])
    grant(role, ["ssm:GetParameter"], [arn])


def _grant_key(role: iam.Role, key: kms.IKey | None) -> None:
    if key is not None:
        grant(role, ["kms:Decrypt", "kms:GenerateDataKey"], [key.key_arn])
