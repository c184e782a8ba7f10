"""On the laptop S3 tells a queue of every upload, after its restart too."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from lambdas.uploads.sweep import uploaded_keys
from local.checkout import LOCALSTACK_ENVIRONMENT
from local.servers.localstack import LocalAws, ensure_upload_queue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

pytestmark = pytest.mark.localstack

BUCKET = "notifying"
PATIENCE_S = 30.0


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[LocalAws]:
    """LocalStack that took an upload, was killed, and came back."""
    aws = LocalAws(tmp_path / "aws", environment=LOCALSTACK_ENVIRONMENT)
    aws.start()
    try:
        aws.ensure_bucket(BUCKET)
        ensure_upload_queue(aws.client_settings, BUCKET)
        put(aws, "uploads/before")
        aws.kill()
        aws.start()
        yield aws
    finally:
        aws.stop()


def put(aws: LocalAws, key: str) -> None:
    boto3.client("s3", **aws.client_settings).put_object(Bucket=BUCKET, Key=key, Body=b"")


def told_of(sqs: "SQSClient", url: str, wanted: str) -> list[str]:
    """All keys that the queue tells of, until the wanted one."""
    told: list[str] = []
    give_up_s = time.monotonic() + PATIENCE_S
    while wanted not in told and time.monotonic() < give_up_s:
        for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []):
            told.extend(uploaded_keys(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return told


def test_after_a_restart_uploads_are_reported_and_nothing_else(restarted: LocalAws) -> None:
    sqs = boto3.client("sqs", **restarted.client_settings)
    url = sqs.get_queue_url(QueueName="fleetlane-uploads")["QueueUrl"]

    put(restarted, "payloads/1")
    put(restarted, "landed/1")
    put(restarted, "uploads/a b+c")

    assert told_of(sqs, url, "uploads/a b+c") == ["uploads/a b+c"]
