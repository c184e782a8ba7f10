"""What must outlive all code: buckets, tables and the key that they are encrypted with."""

from dataclasses import dataclass

from aws_cdk import Aws, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.nag_suppressions import explain
from infra.constructs.stores.payload_ttl import check_payload_ttl
from infra.constructs.stores.upload_queue import UploadQueue
from infra.stages import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProps:
    """What differs between stages. A laptop has no key of its own: AWS's are used there."""

    payload_ttl_days: int
    log_retention_days: int
    keeps_data: bool
    has_own_key: bool

    @classmethod
    def of(cls, stage: Stage) -> "StorageProps":
        """Read them from a stage.

        Raises:
            BadStageError: Payloads would expire before they are read.
        """
        check_payload_ttl(stage)
        return cls(
            payload_ttl_days=stage.payload_ttl_days,
            log_retention_days=stage.log_retention_days,
            keeps_data=stage.keeps_data,
            has_own_key=stage.is_cloud,
        )


class Storage(Stack):
    """The stores. ``key`` is ``None`` on a laptop."""

    def __init__(self, scope: Construct, name: str, *, props: StorageProps, region: str) -> None:
        super().__init__(
            scope,
            name,
            env={"region": region},
            termination_protection=props.keeps_data,
            description="Fleetlane: buckets, tables and their key",
        )
        self._props = props
        self._removal = RemovalPolicy.RETAIN if props.keeps_data else RemovalPolicy.DESTROY
        self.key = self._key() if props.has_own_key else None
        self._access_logs = self._access_log_bucket() if props.has_own_key else None
        self.payloads = self._bucket("Payloads", ttl_days=props.payload_ttl_days)
        self.uploads = UploadQueue(self, "Uploads", bucket=self.payloads, key=self.key)
        self.parked = self._bucket("Parked")
        self.spool = self._bucket("Spool")
        self.artifacts = self._bucket("Artifacts", versioned=True)
        self.lake = self._bucket("Lake")
        self.checkpoints = self._bucket("Checkpoints")
        self.registry = self._registry()
        self.receipts = self._receipts()
        self._tell_names()

    def _key(self) -> kms.Key:
        """CloudWatch and S3 may use it too: for the jobs' logs, to notify an encrypted queue."""
        key = kms.Key(
            self,
            "Key",
            description="Fleetlane's data at rest",
            enable_key_rotation=True,
            removal_policy=self._removal,
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
        self, name: str, *, ttl_days: int | None = None, versioned: bool = False
    ) -> s3.Bucket:
        """A bucket that keeps its objects for ever, unless it has a TTL."""
        expiration = None if ttl_days is None else Duration.days(ttl_days)
        key = self.key
        return s3.Bucket(
            self,
            name,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=key is not None,
            versioned=versioned,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="ttl" if expiration else "leftovers",
                    expiration=expiration,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            server_access_logs_bucket=self._access_logs,
            server_access_logs_prefix=f"{name.lower()}/" if self._access_logs else None,
            removal_policy=self._removal,
        )

    def _access_log_bucket(self) -> s3.Bucket:
        """Who read and wrote what. S3 delivers its logs only to buckets with its own keys."""
        bucket = s3.Bucket(
            self,
            "AccessLogs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            encryption=s3.BucketEncryption.S3_MANAGED,
            lifecycle_rules=[
                s3.LifecycleRule(id="ttl", expiration=Duration.days(self._props.log_retention_days))
            ],
            removal_policy=self._removal,
        )
        explain(bucket, "S1", "It holds access logs itself; its own would log their own delivery.")
        return bucket

    def _registry(self) -> dynamodb.Table:
        return self._table("Registry", "device_id", has_recovery=True)

    def _receipts(self) -> dynamodb.Table:
        table = self._table("Receipts", "receipt_key", expires_by="expires_s")
        explain(
            table, "DDB3", "Receipts live for hours; without them a device's retry lands once more."
        )
        return table

    def _table(
        self, name: str, key: str, *, has_recovery: bool = False, expires_by: str | None = None
    ) -> dynamodb.Table:
        own_key = dynamodb.TableEncryption.CUSTOMER_MANAGED
        return dynamodb.Table(
            self,
            name,
            partition_key=dynamodb.Attribute(name=key, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=own_key if self.key else dynamodb.TableEncryption.DEFAULT,
            encryption_key=self.key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=has_recovery
            ),
            time_to_live_attribute=expires_by,
            deletion_protection=self._props.keeps_data,
            removal_policy=self._removal,
        )

    def _tell_names(self) -> None:
        """What a command line, a script or the laptop needs to be told."""
        names = {
            "PayloadBucket": self.payloads.bucket_name,
            "ParkedBucket": self.parked.bucket_name,
            "FlowsBucket": self.artifacts.bucket_name,
            "CheckpointsBucket": self.checkpoints.bucket_name,
            "LakeBucket": self.lake.bucket_name,
            "RegistryTable": self.registry.table_name,
        }
        for name, value in names.items():
            CfnOutput(self, f"{name}Name", value=value)
