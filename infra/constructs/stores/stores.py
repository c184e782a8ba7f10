"""The stores of a stage, as functions and jobs are given them, and how they are emptied."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from aws_cdk import Aws, CustomResource, Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fleetlane.events.lanes import SLOW_TRIES_MAX, Lane
from fleetlane.events.s3_keys import UPLOADS
from fleetlane.events.times import DAY_MS
from fleetlane.events.topics import RawTopic, topic_settings
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import grant, seen_arn, suppress, suppress_wildcard
from infra.stages import BadStageError, Stage

UPLOAD_QUEUE_DAYS: Final = 1
DEAD_LETTER_DAYS: Final = 5
"""Together the longest that a notification of S3 can wait, in its queue and as a dead letter."""

SPOOL_DAYS: Final = 2
"""How long a record may wait in the spool for Kafka. The spool itself has no expiry."""


def days_on_the_way() -> int:
    """The longest that a payload may have to be there.

    Its notification can wait before its record lands. The record can wait in the spool, then for as
    long as each topic keeps it that it comes to on its way: it lands in the bulk lane, and is tried
    in the slow lane. Each time it waits for its turn, and once more when over its flow's budget.
    """
    lanes = (Lane.BULK, *[Lane.SLOW] * SLOW_TRIES_MAX)
    topics = (str(RawTopic(lane=lane, is_over=over)) for lane in lanes for over in (False, True))
    waits_ms = sum(topic_settings(topic).retention_ms for topic in topics)
    return -(-waits_ms // DAY_MS) + SPOOL_DAYS + DEAD_LETTER_DAYS


def check_payload_ttl(stage: Stage) -> None:
    """Refuse a stage whose payloads may expire before they are read."""
    needed = days_on_the_way()
    if stage.payload_ttl_days <= needed:
        problem = (
            f"is {stage.payload_ttl_days} days, but a record may refer to a payload for {needed}; "
            f"raise it to {needed + 1} or more"
        )
        raise BadStageError(stage.name, "payload_ttl_days", problem)


AGAIN_AFTER_S: Final = 360
"""When a message that did not land comes again: AWS asks for six times the function's timeout."""

RECEIVES_MAX: Final = 200
"""Enough attempts for nearly all of a message's day in the queue: few outages make dead letters."""


class UploadQueue(Construct):
    """``queue`` with its ``dead_letters``, and the bucket's notifications into it.

    The notifications are set on the bucket itself. CDK would have a function do it while deploying,
    with rights on every bucket.
    """

    def __init__(
        self, scope: Construct, name: str, *, bucket: s3.Bucket, key: kms.Key | None
    ) -> None:
        super().__init__(scope, name)
        queue = partial(
            sqs.Queue,
            self,
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=True,
            visibility_timeout=Duration.seconds(AGAIN_AFTER_S),
        )
        self.dead_letters = queue("DeadLetters", retention_period=Duration.days(DEAD_LETTER_DAYS))
        self.queue = queue(
            "Queue",
            retention_period=Duration.days(UPLOAD_QUEUE_DAYS),
            dead_letter_queue={"queue": self.dead_letters, "max_receive_count": RECEIVES_MAX},
        )
        # Only that the sender is of this account: the bucket's own name is not known before it is
        # made, and S3 makes it only once it may send.
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        self.queue.grant_send_messages(iam.ServicePrincipal("s3.amazonaws.com", conditions=ours))
        resource = bucket.node.default_child
        assert isinstance(resource, s3.CfnBucket)
        notified = {
            "event": "s3:ObjectCreated:*",
            "queue": self.queue.queue_arn,
            "filter": {"s3Key": {"rules": [{"name": "prefix", "value": UPLOADS}]}},
        }
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            queue_configurations=[notified]
        )
        resource.node.add_dependency(self.queue)  # and on its policy: S3 tries it at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """``artifacts`` holds flows, overrides and parsers. ``key`` is ``None`` on a laptop."""

    key: kms.Key | None
    payloads: s3.Bucket
    uploads: UploadQueue
    parked: s3.Bucket
    spool: s3.Bucket
    artifacts: s3.Bucket
    lake: s3.Bucket
    checkpoints: s3.Bucket
    registry: dynamodb.Table
    receipts: dynamodb.Table


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
            code=lambda_.Code.from_inline(Path(__file__).with_name("emptying.py").read_text()),
            handler="index.handle",
            role=self._role,
            log_group=group,
            memory_size=256,
            timeout=Duration.minutes(15),
        )
        suppress(self._function, "The jobs run 3.13 too; one version has to be looked after.", "L1")

    def add(self, bucket: s3.Bucket) -> None:
        """The first of all is emptied last: it has the others' access logs."""
        grant(self._role, ["s3:ListBucketVersions", "s3:PutBucketPolicy"], [bucket.bucket_arn])
        of_objects = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
        grant(self._role, of_objects, [bucket.arn_for_objects("*")])
        reason = "The bucket goes with its stack, and so does every object in it."
        seen = seen_arn(bucket, bucket.bucket_arn, reader=self)
        suppress_wildcard(self._role, f"{seen}/*", reason)
        emptied = CustomResource(
            self,
            bucket.node.id,
            service_token=self._function.function_arn,
            resource_type="Custom::EmptiedBucket",
            properties={"bucket": bucket.bucket_name},
        )
        needed = (self._role, bucket.policy, self._last)  # the role's own policy too
        emptied.node.add_dependency(*(one for one in needed if one is not None))
        self._last = self._last or emptied
