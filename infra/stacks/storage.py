"""What must outlive all code: buckets, tables and the key that they are encrypted with."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from aws_cdk import Aws, CfnOutput, Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from fleetlane.events.names import LAKE_DATABASE
from fleetlane.events.s3_keys import ARCHIVED_BODIES
from infra.constructs.platform_stack import PlatformStack
from infra.constructs.rights import suppress
from infra.constructs.stores.stores import EmptiedBuckets, Stores, UploadQueue, check_payload_ttl
from infra.stages import Stage

UNDO_DAYS: Final = 7
"""So long what a job deleted by mistake is there; and what was erased on request, too."""


class Storage(PlatformStack):
    """A laptop has no key of its own: AWS's are used there."""

    def __init__(self, scope: Construct, *, stage: Stage) -> None:
        check_payload_ttl(stage)
        described = "buckets, tables and their key"
        super().__init__(scope, "storage", stage=stage, description=described, holds_data=True)
        self._closed_bucket = partial(
            s3.Bucket,
            self,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=self.removal,
        )
        self._key = self._own_key() if stage.is_cloud else None
        self._access_logs = self._access_log_bucket() if stage.is_cloud else None
        payloads = self._bucket("Payloads", ttl_days=stage.payload_ttl_days)
        archived = Duration.days(stage.archived_body_days)
        bodies = s3.LifecycleRule(id="archived-bodies", prefix=ARCHIVED_BODIES, expiration=archived)
        self.stores = Stores(
            key=self._key,
            payloads=payloads,
            uploads=UploadQueue(self, "Uploads", bucket=payloads, key=self._key),
            parked=self._bucket("Parked", undo_days=UNDO_DAYS),
            spool=self._bucket("Spool"),
            artifacts=self._bucket("Artifacts", versioned=True),
            lake=self._bucket("Lake", undo_days=UNDO_DAYS, rules=[bodies]),
            checkpoints=self._bucket("Checkpoints", undo_days=UNDO_DAYS),
            registry=self._table("Registry", "device_id", has_recovery=True),
            receipts=self._table("Receipts", "receipt_key", expires_by="expires_s"),
        )
        few_hours = "Receipts live for hours; without them a device's retry lands twice."
        suppress(self.stores.receipts, few_hours, "DDB3")
        if not stage.keeps_data:
            emptied = EmptiedBuckets(self, "Emptied")
            for bucket in [one for one in self.node.children if isinstance(one, s3.Bucket)]:
                emptied.add(bucket)
        if stage.lake_database != LAKE_DATABASE:  # a laptop's, or one that was there before
            database = glue.CfnDatabase(
                self,
                "LakeDatabase",
                catalog_id=Aws.ACCOUNT_ID,
                database_input={"name": stage.lake_database},
            )
            database.apply_removal_policy(self.removal)  # Glue drops it with its tables
        # For an operator who makes a new checkpoint; all other names are in the SSM parameter.
        CfnOutput(self, "CheckpointsBucketName", value=self.stores.checkpoints.bucket_name)

    def _own_key(self) -> kms.Key:
        """CloudWatch and S3 may use it too: for the jobs' logs, to notify an encrypted queue."""
        key = kms.Key(
            self,
            "Key",
            description="Fleetlane's data at rest",
            enable_key_rotation=True,
            removal_policy=self.removal,
        )
        logs = f"arn:{Aws.PARTITION}:logs:{self.region}:{Aws.ACCOUNT_ID}:*"
        principal = iam.ServicePrincipal(
            f"logs.{self.region}.amazonaws.com",
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": logs}},
        )
        key.grant_encrypt_decrypt(principal)
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        notifies = iam.ServicePrincipal("s3.amazonaws.com", conditions=ours)
        key.grant(notifies, "kms:Decrypt", "kms:GenerateDataKey")
        return key

    def _bucket(
        self,
        name: str,
        *,
        ttl_days: int | None = None,
        versioned: bool = False,
        undo_days: int | None = None,
        rules: Sequence[s3.LifecycleRule] = (),
    ) -> s3.Bucket:
        """A bucket that keeps its objects forever unless it has a TTL, or ``rules`` for some.

        With ``undo_days`` what was deleted or replaced can be brought back for so long.
        """
        expiration = None if ttl_days is None else Duration.days(ttl_days)
        key = self._key
        return self._closed_bucket(
            name,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=key is not None,
            versioned=versioned or undo_days is not None,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="ttl" if expiration else "leftovers",
                    expiration=expiration,
                    noncurrent_version_expiration=Duration.days(undo_days) if undo_days else None,
                    expired_object_delete_marker=True if undo_days else None,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                ),
                *rules,
            ],
            server_access_logs_bucket=self._access_logs,
            server_access_logs_prefix=f"{name.lower()}/" if self._access_logs else None,
        )

    def _access_log_bucket(self) -> s3.Bucket:
        """Who read and wrote what. S3 delivers its logs only to buckets with its own keys."""
        ttl = Duration.days(self.stage.log_retention_days)
        bucket = self._closed_bucket(
            "AccessLogs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            lifecycle_rules=[s3.LifecycleRule(id="ttl", expiration=ttl)],
        )
        suppress(bucket, "It holds access logs itself; its own would log their own delivery.", "S1")
        return bucket

    def _table(
        self, name: str, key: str, *, has_recovery: bool = False, expires_by: str | None = None
    ) -> dynamodb.Table:
        own_key = dynamodb.TableEncryption.CUSTOMER_MANAGED
        return dynamodb.Table(
            self,
            name,
            partition_key=dynamodb.Attribute(name=key, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=own_key if self._key else dynamodb.TableEncryption.DEFAULT,
            encryption_key=self._key,
            point_in_time_recovery_specification={"point_in_time_recovery_enabled": has_recovery},
            time_to_live_attribute=expires_by,
            deletion_protection=self.is_protected,
            removal_policy=self.removal,
        )
