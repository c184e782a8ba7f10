"""Who is blocked on a platform that another process runs."""

import boto3

from clients.blocked_messages import BlockedMessages
from local.endpoints import Endpoints
from local.platform import PARKED_BUCKET


def blocked_messages_of(endpoints: Endpoints) -> BlockedMessages:
    """Open them; whatever the user's own AWS settings are, they do not count."""
    s3 = boto3.client(
        "s3",
        endpoint_url=endpoints.s3,
        region_name=endpoints.region,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - LocalStack takes any
    )
    return BlockedMessages(s3, PARKED_BUCKET)
