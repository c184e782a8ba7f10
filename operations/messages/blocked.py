"""Who is blocked on a platform that another process runs."""

import boto3

from clients.s3.blocked_messages import BlockedMessages
from local.platform import PARKED_BUCKET
from operations.aws_settings import client_settings_at
from operations.endpoints import Endpoints


def blocked_messages_of(endpoints: Endpoints) -> BlockedMessages:
    """Open them; whatever the user's own AWS settings are, they do not count."""
    s3 = boto3.client("s3", **client_settings_at(endpoints.s3))
    return BlockedMessages(s3, PARKED_BUCKET)
