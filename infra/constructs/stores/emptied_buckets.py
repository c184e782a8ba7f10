"""Buckets that go with their stack, whatever they hold."""

from pathlib import Path
from typing import Final

from aws_cdk import Aws, CustomResource, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.platform_stack import log_group
from infra.constructs.rights import grant, suppress, suppress_wildcard

_CODE: Final = Path(__file__).with_name("emptying.py")
_PYTHON: Final = "The jobs run 3.13 too; one version has to be looked after."
_ALL_OBJECTS: Final = "The bucket goes with its stack, and so does every object in it."


class EmptiedBuckets(Construct):
    """Empties buckets right before their stack deletes them. A stage that keeps data has none."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        self._last: CustomResource | None = None
        group = log_group(self, "Logs")
        self._role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(self._role)
        grant(self._role, ["cloudformation:DescribeStacks"], [Aws.STACK_ID])
        self._function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime.PYTHON_3_13,
            code=lambda_.Code.from_inline(_CODE.read_text()),
            handler="index.handle",
            role=self._role,
            log_group=group,
            memory_size=256,
            timeout=Duration.minutes(15),
        )
        suppress(self._function, "L1", _PYTHON)

    def add(self, bucket: s3.Bucket) -> None:
        """The first of all is emptied last: it has the others' access logs."""
        logical_id = Stack.of(self).resolve(bucket.bucket_arn)["Fn::GetAtt"][0]
        of_bucket = ["s3:ListBucketVersions", "s3:PutBucketPolicy"]
        grant(self._role, of_bucket, [bucket.bucket_arn])
        of_objects = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
        grant(self._role, of_objects, [bucket.arn_for_objects("*")])
        suppress_wildcard(self._role, f"<{logical_id}.Arn>/*", _ALL_OBJECTS)
        emptied = CustomResource(
            self,
            bucket.node.id,
            service_token=self._function.function_arn,
            resource_type="Custom::EmptiedBucket",
            properties={"bucket": bucket.bucket_name},
        )
        emptied.node.add_dependency(self._role)  # and on its policy
        if bucket.policy is not None:
            emptied.node.add_dependency(bucket.policy)
        if self._last is not None:
            emptied.node.add_dependency(self._last)
        self._last = self._last or emptied
