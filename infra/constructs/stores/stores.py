"""The stores of a stage, as functions and jobs are given them."""

from dataclasses import dataclass

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from infra.constructs.stores.upload_queue import UploadQueue


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
