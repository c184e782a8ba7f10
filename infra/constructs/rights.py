"""What a role may do, and suppressed findings of cdk-nag, each with its reason."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Acknowledgment, Resource, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

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


def suppress(construct: IConstruct, rule: str, reason: str) -> None:
    """Acknowledge ``rule`` of the AWS Solutions pack on ``construct`` and all within it."""
    finding = Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason)
    Validations.of(construct).acknowledge(finding)


def suppress_wildcard(role: iam.Role, resource: str, reason: str) -> None:
    """Acknowledge one resource of ``role``'s own policy that has a ``*`` in it."""
    suppress(role, f"IAM5[Resource::{resource}]", reason)


def seen_arn(owner: Resource, arn: str, *, reader: IConstruct) -> str:
    """How cdk-nag writes ``owner``'s ARN in a policy of ``reader``'s stack."""
    stack = Stack.of(owner)
    if stack is Stack.of(reader):
        logical_id = stack.resolve(arn)["Fn::GetAtt"][0]
        return f"<{logical_id}.Arn>"
    exported: str = stack.resolve(stack.export_value(arn))["Fn::ImportValue"]
    return exported
