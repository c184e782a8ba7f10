"""AWS in this process, by moto: a client of S3, and tables of devices and of receipts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber

from clients.aws import AwsSettings, dynamodb_table, s3_client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_s3.client import S3Client

SETTINGS = AwsSettings(region_name="us-east-1")


_process_request = BotocoreStubber.process_request
_one_request_at_a_time = threading.RLock()


def _processed_alone(stubber: BotocoreStubber, request: Any) -> Any:
    with _one_request_at_a_time:
        return _process_request(stubber, request)


@contextmanager
def buckets(*names: str) -> Iterator["S3Client"]:
    """S3 with these buckets. It compares and writes in one step, as S3 does; moto alone in two."""
    with mock_aws(), patch.object(BotocoreStubber, "process_request", _processed_alone):
        s3 = s3_client(SETTINGS)
        for name in names:
            s3.create_bucket(Bucket=name)
        yield s3


@contextmanager
def device_table() -> Iterator["Table"]:
    with _table("devices", "device_id") as table:
        yield table


@contextmanager
def receipt_table() -> Iterator["Table"]:
    with _table("receipts", "receipt_key") as table:
        yield table


@contextmanager
def _table(name: str, key: str) -> Iterator["Table"]:
    with mock_aws():
        boto3.client("dynamodb", region_name=SETTINGS.region_name).create_table(
            TableName=name,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield dynamodb_table(SETTINGS, name)
