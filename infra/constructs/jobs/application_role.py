"""What a Spark application is given, and what it may do: its lane's work and nothing else."""

from dataclasses import dataclass
from typing import Final

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.lake.tables import TABLES
from fleetlane.events.lake.views import VIEW_PREFIX
from fleetlane.events.lanes import REAL_TIME_LANES, BulkCause, Lane
from fleetlane.events.metrics import namespace_of
from fleetlane.events.topics import (
    FLEET_ALERTS,
    FLEET_HEARTBEATS,
    FLEET_PARSED,
    FLEET_RECEIVED,
    PARKED,
)
from infra.constructs import rights
from infra.constructs.jobs.spark_applications import (
    APPLICATION_PREFIX,
    LAKE_TABLES_PREFIX,
    Places,
    SparkApplication,
)
from infra.constructs.kafka import access
from infra.constructs.network import PrivateNetwork
from infra.constructs.stores.stores import Stores
from infra.constructs.stores.uploads import JOBS_CODE, JobsCode

_CATALOG_ACTIONS: Final = (
    "glue:CreateDatabase",
    "glue:CreateTable",
    "glue:GetDatabase",
    "glue:GetTable",
    "glue:UpdateTable",
)
"""What Iceberg calls: a commit updates the table's entry. Nothing is ever dropped."""

_UPKEEP: Final = (
    s3_keys.LEASES,
    s3_keys.UPKEEP_REQUESTS,
    s3_keys.UPKEEP_ANSWERS,
    s3_keys.UPKEEP_SCHEDULED,
    s3_keys.ERASED,
)
_NEW_VIEWS: Final = "Flows bring views of their own, under this prefix, without a deploy."


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContext:
    """What all applications of a stage share, whichever engine runs them."""

    code: JobsCode
    kafka: access.KafkaAccess
    stores: Stores
    places: Places
    network: PrivateNetwork
    key: kms.Key


class ApplicationRole(Construct):
    """One application's role; its engine adds what itself does as that role."""

    def __init__(
        self,
        scope: Construct,
        *,
        application: SparkApplication,
        principal: str,
        context: EngineContext,
    ) -> None:
        super().__init__(scope, f"{application.name}-role")
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal(principal))
        self._grant_metrics(namespace_of(application.stage.name))
        stores, kafka = context.stores, context.kafka
        self._grant_checkpoints(application, stores)
        kafka.grant_mirror(self.role, application.queries)
        if application.lane is None:
            self._grant_lake(stores, kafka, application)
            self._grant_watch(stores, kafka)
        else:
            self._grant_parsing(stores)
            self._grant_topics(application, kafka)

    def _grant_metrics(self, namespace: str) -> None:
        ours = {"StringEquals": {"cloudwatch:namespace": namespace}}
        rights.grant(self.role, ["cloudwatch:PutMetricData"], ["*"], conditions=ours)
        reason = "Metrics have no ARNs; the condition allows our namespace alone."
        rights.suppress_wildcard(self.role, "*", reason)

    def _grant_checkpoints(self, application: SparkApplication, stores: Stores) -> None:
        """Its own, the files that stop it and say that it runs, its code, the flows: all need it.

        Hadoop marks a folder that became empty by an object of its name.
        """
        every = (*rights.READ, *rights.WRITE, *rights.DELETE)
        rights.grant_objects(self.role, stores.checkpoints, every, *application.queries)
        name = f"{APPLICATION_PREFIX}{application.name}"
        own = (f"{s3_keys.STOP_MARKERS}{name}", f"{s3_keys.STARTED_MARKERS}{name}")
        for key in (*own, s3_keys.STOP_MARKERS):
            rights.grant(self.role, every, [stores.checkpoints.arn_for_objects(key)])
        rights.grant_objects(self.role, stores.artifacts, rights.READ, JOBS_CODE, s3_keys.FLOWS)

    def _grant_parsing(self, stores: Stores) -> None:
        """Reads what landed or was parked, and copies the one to the other."""
        rights.grant_objects(self.role, stores.artifacts, rights.READ, s3_keys.PARSERS)
        rights.grant_objects(self.role, stores.payloads, rights.READ)
        kept = (s3_keys.PARKED_PAYLOADS, s3_keys.BLOCKED_MESSAGES)
        rights.grant_objects(self.role, stores.parked, (*rights.READ, *rights.WRITE), *kept)

    def _grant_lake(
        self, stores: Stores, kafka: access.KafkaAccess, application: SparkApplication
    ) -> None:
        """Reads what is kept, and writes the lake with the bodies beside it: nobody else does."""
        stage = application.stage
        kept = (access.CANONICAL_TOPICS, access.UNIQUE_TOPICS, PARKED, FLEET_PARSED, FLEET_RECEIVED)
        kafka.grant_read(self.role, (*kept, access.RAW_TOPICS) if stage.raw_archive_days else kept)
        kafka.grant_write(self.role, (access.UNIQUE_TOPICS,))
        rights.grant_objects(self.role, stores.payloads, rights.READ)
        tables = (f"{LAKE_TABLES_PREFIX}/", s3_keys.ARCHIVED_BODIES)
        rights.grant_objects(
            self.role, stores.lake, (*rights.READ, *rights.WRITE, *rights.DELETE), *tables
        )
        rights.grant_objects(self.role, stores.lake, (*rights.READ, *rights.WRITE), *_UPKEEP)
        self._grant_catalog(stage.lake_database)
        self._grant_ledger(stores, kafka)

    def _grant_catalog(self, database: str) -> None:
        """Create the lake's tables and its views, commit to the one, change the other."""
        views, region = f"{VIEW_PREFIX}*", Stack.of(self).region
        tables = [*(table.name for table in TABLES), views]
        rights.grant_catalog(self.role, _CATALOG_ACTIONS, database=database, tables=tables)
        seen = f"arn:aws:glue:{region}:<AWS::AccountId>:table/{database}/{views}"
        rights.suppress_wildcard(self.role, seen, _NEW_VIEWS)

    def _grant_ledger(self, stores: Stores, kafka: access.KafkaAccess) -> None:
        """Sees how far queries are, what waits in the spool, and reads ingest's own counts."""
        kafka.grant_see(self.role, (access.RAW_TOPICS,))
        kafka.grant_see_mirrored(self.role)
        kafka.grant_write(self.role, (FLEET_ALERTS,))
        rights.grant(self.role, ["s3:ListBucket"], [stores.spool.bucket_arn])
        rights.grant(self.role, ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"], ["*"])

    def _grant_watch(self, stores: Stores, kafka: access.KafkaAccess) -> None:
        """Reports runaway devices, quarantines them by overrides, and records last-seen times."""
        kafka.grant_write(self.role, (FLEET_ALERTS,))
        rights.grant_objects(
            self.role, stores.artifacts, (*rights.READ, *rights.WRITE), s3_keys.OVERRIDES
        )
        noted = ("device_id", "last_seen_ms", "firmware")
        rights.grant_items(self.role, stores.registry, ["dynamodb:UpdateItem"], attributes=noted)

    def _grant_topics(self, application: SparkApplication, kafka: access.KafkaAccess) -> None:
        read = access.RAW_TOPICS if application.has_metadata else f"raw.{application.lane}*"
        received = (FLEET_RECEIVED,) if application.has_metadata else ()
        kafka.grant_read(self.role, (read,))
        elsewhere = () if application.lane is Lane.SLOW else (f"raw.{Lane.BULK}.{BulkCause.LARGE}",)
        if application.lane is Lane.BULK:
            elsewhere = (f"raw.{Lane.BULK}.over*",)
        rerouted = (f"raw.{Lane.SLOW}*", *elsewhere, access.BLOCKING_TOPICS, PARKED)
        kafka.grant_write(self.role, (access.CANONICAL_TOPICS, *rerouted, FLEET_PARSED, *received))
        if application.lane in REAL_TIME_LANES:
            kafka.grant_read(self.role, (FLEET_HEARTBEATS,))
            kafka.grant_write(self.role, (FLEET_HEARTBEATS,))
