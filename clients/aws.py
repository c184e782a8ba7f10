"""boto3 clients that give up in time: no call takes longer than about five seconds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.handlers import add_expect_header

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_s3.client import S3Client


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSettings:
    """Where AWS is. What is ``None`` boto3 finds itself: in its environment variables.

    Credentials always come from the environment.
    """

    endpoint_url: str | None = None
    region: str | None = None


def s3_client(settings: AwsSettings) -> "S3Client":
    """Open a client for S3; may be used by several threads."""
    s3 = boto3.client(
        "s3",
        endpoint_url=settings.endpoint_url,
        region_name=settings.region,
        config=client_config(),
    )
    # Asking first whether S3 wants a body costs a round trip, and a second where S3 hangs.
    s3.meta.events.unregister("before-call.s3", add_expect_header)
    return s3


def dynamodb_table(settings: AwsSettings, name: str, *, config: Config | None = None) -> "Table":
    """Open one table of DynamoDB; ``config`` bounds its calls, ``client_config()`` by default."""
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=settings.endpoint_url,
        region_name=settings.region,
        config=config or client_config(),
    )
    return resource.Table(name)


def client_config() -> Config:
    """The bounds of every call: one second to connect, two to answer, one more try."""
    return Config(
        connect_timeout=1,
        read_timeout=2,
        retries={"total_max_attempts": 2, "mode": "standard"},
        max_pool_connections=32,
        response_checksum_validation="when_required",  # we compare digests ourselves
    )


def hasty_config(*, seconds: float) -> Config:
    """Bounds for what is worth only a short wait: one try, so long to connect and to answer."""
    return Config(
        connect_timeout=seconds / 2,
        read_timeout=seconds / 2,
        retries={"total_max_attempts": 1},
        max_pool_connections=32,
    )
