"""What a Spark application may do: read its lane, write what comes of it, and nothing else."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NAMESPACE
from fleetlane.events.topics import FLEET_ALERTS, FLEET_PARSED, FLEET_RECEIVED, PARKED
from infra.constructs.jobs.spark_applications import SparkApplication
from infra.constructs.kafka.access import CANONICAL_TOPICS, RAW_TOPICS, UNIQUE_TOPICS, KafkaAccess
from infra.constructs.log_retention import retention_of
from infra.constructs.nag_suppressions import explain_wildcard
from infra.constructs.stores.access import DELETE, READ, WRITE, grant_items, grant_objects
from infra.constructs.stores.lake_catalog import grant_catalog
from infra.stacks.storage import Storage


class ApplicationRole(Construct):
    """One application's role, and the log group that it writes to."""

    def __init__(
        self,
        scope: Construct,
        *,
        application: SparkApplication,
        principal: str,
        storage: Storage,
        kafka: KafkaAccess,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, f"{application.name}-role")
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal(principal))
        self.logs = logs.LogGroup(
            self,
            "Logs",
            retention=retention_of(log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.logs.grant_write(self.role)
        self._grant_metrics()
        self._grant_stores(storage)
        self._grant_topics(application, kafka)
        if application.has_deduplicate:
            kafka.grant_read(self.role, (CANONICAL_TOPICS,))
            kafka.grant_write(self.role, (UNIQUE_TOPICS,))
        if application.has_lake:
            self._grant_lake(storage, kafka)
        if application.has_watch:
            self._grant_watch(storage, kafka)

    def _grant_metrics(self) -> None:
        iam.Grant.add_to_principal(
            grantee=self.role,
            actions=["cloudwatch:PutMetricData"],
            resource_arns=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
        )
        reason = "Metrics have no ARNs; the condition allows our namespace alone."
        explain_wildcard(self.role, "*", reason)

    def _grant_stores(self, storage: Storage) -> None:
        """Parsing reads what landed or was parked, and copies the one to the other."""
        grant_objects(self.role, storage.artifacts, READ)
        grant_objects(self.role, storage.payloads, READ)
        grant_objects(self.role, storage.parked, (*READ, *WRITE))
        grant_objects(self.role, storage.checkpoints, (*READ, *WRITE, *DELETE))

    def _grant_lake(self, storage: Storage, kafka: KafkaAccess) -> None:
        """Reads what is kept for good, and writes the lake: nobody else does."""
        kept = (CANONICAL_TOPICS, UNIQUE_TOPICS, PARKED, FLEET_PARSED, FLEET_RECEIVED)
        kafka.grant_read(self.role, kept)
        grant_objects(self.role, storage.lake, (*READ, *WRITE, *DELETE))
        grant_catalog(self.role)

    def _grant_watch(self, storage: Storage, kafka: KafkaAccess) -> None:
        """Tells who sends too much, holds it back by the overrides; notes who was heard of."""
        kafka.grant_read(self.role, (FLEET_RECEIVED,))
        kafka.grant_write(self.role, (FLEET_ALERTS,))
        grant_objects(self.role, storage.artifacts, WRITE, prefix=s3_keys.OVERRIDES)
        grant_items(self.role, storage.registry, ["dynamodb:UpdateItem"])

    def _grant_topics(self, application: SparkApplication, kafka: KafkaAccess) -> None:
        read = RAW_TOPICS if application.has_metadata else f"raw.{application.lane}*"
        received = (FLEET_RECEIVED,) if application.has_metadata else ()
        kafka.grant_read(self.role, (read,))
        kafka.grant_mirror(self.role)
        kafka.grant_write(
            self.role,
            (CANONICAL_TOPICS, f"raw.{Lane.SLOW}*", PARKED, FLEET_PARSED, *received),
        )
