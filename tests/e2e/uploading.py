"""Uploading in the hand of a test, step by step."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from io import BytesIO

import boto3

from clients.device_api import upload_form, uploaded
from local.platform import Platform
from local.servers.localstack import notify_of_uploads
from operations.endpoints import PAYLOAD_BUCKET
from operations.ledger.message_results import Receipt
from tests.e2e.devices import Device

type Form = dict[str, object]


def form_for(device: Device, stream: str, body: bytes) -> Form:
    """Ask for a form."""
    headers = {"Authorization": f"Bearer {device.token()}", "Content-Type": "application/json"}
    return upload_form(device.api, stream, body, headers)


def accepted_by(form: Form, body: bytes, *, events: int) -> Receipt:
    """Send a body by its form; what a device keeps of a 204."""
    raw_id = str(uploaded(form, BytesIO(body))["id"])
    return Receipt(raw_id=raw_id, sha256=sha256(body).hexdigest(), events=events)


@contextmanager
def without_notifications(platform: Platform) -> Iterator[None]:
    """S3 tells nobody of what it takes."""
    aws = platform.aws.client_settings
    with closing(boto3.client("s3", **aws)) as s3:
        s3.put_bucket_notification_configuration(
            Bucket=PAYLOAD_BUCKET, NotificationConfiguration={}
        )
    try:
        yield
    finally:
        notify_of_uploads(aws, PAYLOAD_BUCKET)
