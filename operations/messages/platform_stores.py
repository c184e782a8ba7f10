"""The messages of a platform on this machine, or of a stage in AWS."""

import boto3

from clients.aws import AwsSettings, s3_client
from fleetlane.events.job_arguments import KafkaSecurity
from local.platform import PARKED_BUCKET, PAYLOAD_BUCKET
from operations.aws_settings import client_settings_at
from operations.endpoints import Endpoints
from operations.messages.stores import MessageStores


def message_stores_of(endpoints: Endpoints) -> MessageStores:
    """Those of a platform here; whatever the user's own AWS settings are, they do not count."""
    return MessageStores.of(
        endpoints.kafka,
        KafkaSecurity.PLAINTEXT,
        boto3.client("s3", **client_settings_at(endpoints.s3)),
        payload_bucket=PAYLOAD_BUCKET,
        parked_bucket=PARKED_BUCKET,
    )


def message_stores_of_stage(
    bootstrap_servers: str, *, payload_bucket: str, parked_bucket: str
) -> MessageStores:
    """Those of a stage, with the region and the credentials of boto3's own environment."""
    return MessageStores.of(
        bootstrap_servers,
        KafkaSecurity.IAM,
        s3_client(AwsSettings()),
        payload_bucket=payload_bucket,
        parked_bucket=parked_bucket,
    )
