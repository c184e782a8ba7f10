"""The queue of S3's notifications about uploads, with its dead-letter queue, as in a stage."""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import boto3

from fleetlane.events.s3_keys import UPLOADS

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_QUEUE: Final = "fleetlane-uploads"
_DEAD: Final = f"{_QUEUE}-dead"
_AGAIN_AFTER_S: Final = "10"
_RECEIVES_MAX: Final = 100


def ensure_upload_queue(aws: Mapping[str, Any], bucket: str) -> str:
    """Make the queues unless they are there, let S3 notify, and return the queue's URL."""
    with closing(boto3.client("sqs", **aws)) as sqs:
        dead_arn = _arn(sqs, sqs.create_queue(QueueName=_DEAD)["QueueUrl"])
        redrive = {"deadLetterTargetArn": dead_arn, "maxReceiveCount": _RECEIVES_MAX}
        url = sqs.create_queue(
            QueueName=_QUEUE,
            Attributes={"VisibilityTimeout": _AGAIN_AFTER_S, "RedrivePolicy": json.dumps(redrive)},
        )["QueueUrl"]
    notify_of_uploads(aws, bucket)
    return url


def notify_of_uploads(aws: Mapping[str, Any], bucket: str) -> None:
    """Let the bucket notify the queue, which exists, of every upload."""
    with closing(boto3.client("sqs", **aws)) as sqs, closing(boto3.client("s3", **aws)) as s3:
        queue_arn = _arn(sqs, sqs.get_queue_url(QueueName=_QUEUE)["QueueUrl"])
        s3.put_bucket_notification_configuration(
            Bucket=bucket,
            NotificationConfiguration={
                "QueueConfigurations": [
                    {
                        "QueueArn": queue_arn,
                        "Events": ["s3:ObjectCreated:*"],
                        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": UPLOADS}]}},
                    }
                ]
            },
        )


def _arn(sqs: "SQSClient", url: str) -> str:
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return attributes["Attributes"]["QueueArn"]
