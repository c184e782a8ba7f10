"""What a Spark application is given, and what it may do: its lane's work and nothing else."""

from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from fleetlane.events import s3_keys, topics
from fleetlane.events.lake.tables import TABLES
from fleetlane.events.lake.views import VIEW_PREFIX
from fleetlane.events.lanes import REAL_TIME_LANES, BulkCause, Lane
from fleetlane.events.metrics import namespace_of
from infra.constructs import rights
from infra.constructs.jobs import spark_applications
from infra.constructs.kafka import access
from infra.constructs.network import PrivateNetwork
from infra.constructs.stores.stores import Stores
from infra.constructs.stores.uploads import JOBS_CODE, JobsCode
from infra.stages import Stage

_CATALOG_ACTIONS: Final = (
    *("glue:CreateDatabase", "glue:CreateTable"),
    *("glue:GetDatabase", "glue:GetTable", "glue:UpdateTable"),
)
"""What Iceberg calls: a commit updates the table's entry. Nothing is ever dropped."""

_UPKEEP: Final = (
    *(s3_keys.LEASES, s3_keys.ERASED),
    *(s3_keys.UPKEEP_REQUESTS, s3_keys.UPKEEP_ANSWERS, s3_keys.UPKEEP_SCHEDULED),
)
_NEW_VIEWS: Final = "Flows bring views of their own, under this prefix, without a deploy."


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContext:
    """What all applications of a stage share, whichever engine runs them."""

    code: JobsCode
    kafka: access.KafkaAccess
    stores: Stores
    places: spark_applications.Places
    network: PrivateNetwork
    key: kms.Key


class ApplicationRole(Construct):
    """One application's role; its engine adds what itself does as that role."""

    def __init__(
        self,
        scope: Construct,
        *,
        application: spark_applications.SparkApplication,
        principal: str,
        context: EngineContext,
    ) -> None:
        super().__init__(scope, f"{application.name}-role")
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal(principal))
        self._stores, self._kafka = context.stores, context.kafka
        ours = {"StringEquals": {"cloudwatch:namespace": namespace_of(application.stage.name)}}
        rights.grant(self.role, ["cloudwatch:PutMetricData"], ["*"], conditions=ours)
        reason = "Metrics have no ARNs; the condition allows our namespace alone."
        rights.suppress_wildcard(self.role, "*", reason)
        self._grant_checkpoints(application)
        self._kafka.grant_mirror(self.role, application.queries)
        if application.lane is None:
            self._grant_lake(application.stage)
            self._grant_ledger()
            self._grant_watch()
        else:
            self._grant_parsing(application, application.lane)

    def _grant_checkpoints(self, application: spark_applications.SparkApplication) -> None:
        """Its own, the files that stop it and say that it runs, its code, the flows: all need it.

        Hadoop marks a folder that became empty by an object of its name.
        """
        checkpoints = self._stores.checkpoints
        rights.grant_objects(self.role, checkpoints, rights.EVERY, *application.queries)
        name = f"{spark_applications.APPLICATION_PREFIX}{application.name}"
        own = (f"{s3_keys.STOP_MARKERS}{name}", f"{s3_keys.STARTED_MARKERS}{name}")
        for key in (*own, s3_keys.STOP_MARKERS):
            rights.grant(self.role, rights.EVERY, [checkpoints.arn_for_objects(key)])
        read = (JOBS_CODE, s3_keys.FLOWS)
        rights.grant_objects(self.role, self._stores.artifacts, rights.READ, *read)

    def _grant_parsing(self, application: spark_applications.SparkApplication, lane: Lane) -> None:
        """Reads what landed or was parked, copies the one to the other, and writes the results."""
        stores, kafka = self._stores, self._kafka
        rights.grant_objects(self.role, stores.artifacts, rights.READ, s3_keys.PARSERS)
        rights.grant_objects(self.role, stores.payloads, rights.READ)
        kept = (s3_keys.PARKED_PAYLOADS, s3_keys.BLOCKED_MESSAGES)
        rights.grant_objects(self.role, stores.parked, rights.READ_WRITE, *kept)
        read = access.RAW_TOPICS if application.has_metadata else f"raw.{lane}*"
        received = (topics.FLEET_RECEIVED,) if application.has_metadata else ()
        kafka.grant_read(self.role, (read,))
        elsewhere = () if lane is Lane.SLOW else (f"raw.{Lane.BULK}.{BulkCause.LARGE}",)
        if lane is Lane.BULK:
            elsewhere = (f"raw.{Lane.BULK}.over*",)
        rerouted = (f"raw.{Lane.SLOW}*", *elsewhere, access.BLOCKING_TOPICS, topics.PARKED)
        metadata = (topics.FLEET_PARSED, *received)
        kafka.grant_write(self.role, (access.CANONICAL_TOPICS, *rerouted, *metadata))
        if lane in REAL_TIME_LANES:
            kafka.grant_read(self.role, (topics.FLEET_HEARTBEATS,))
            kafka.grant_write(self.role, (topics.FLEET_HEARTBEATS,))

    def _grant_lake(self, stage: Stage) -> None:
        """Reads what is kept, and writes the lake with the bodies beside it: nobody else does."""
        stores, kafka = self._stores, self._kafka
        metadata = (topics.FLEET_PARSED, topics.FLEET_RECEIVED)
        kept = (access.CANONICAL_TOPICS, access.UNIQUE_TOPICS, topics.PARKED, *metadata)
        kafka.grant_read(self.role, (*kept, access.RAW_TOPICS) if stage.raw_archive_days else kept)
        kafka.grant_write(self.role, (access.UNIQUE_TOPICS,))
        rights.grant_objects(self.role, stores.payloads, rights.READ)
        tables = (f"{spark_applications.LAKE_TABLES_PREFIX}/", s3_keys.ARCHIVED_BODIES)
        rights.grant_objects(self.role, stores.lake, rights.EVERY, *tables)
        rights.grant_objects(self.role, stores.lake, rights.READ_WRITE, *_UPKEEP)
        database, views = stage.lake_database, f"{VIEW_PREFIX}*"
        names = [*(table.name for table in TABLES), views]
        rights.grant_catalog(self.role, _CATALOG_ACTIONS, database=database, tables=names)
        seen = f"arn:aws:glue:{stage.region}:<AWS::AccountId>:table/{database}/{views}"
        rights.suppress_wildcard(self.role, seen, _NEW_VIEWS)

    def _grant_ledger(self) -> None:
        """Sees how far queries are, what waits in the spool, and reads ingest's own counts."""
        self._kafka.grant_see(self.role, (access.RAW_TOPICS,))
        self._kafka.grant_see_mirrored(self.role)
        self._kafka.grant_write(self.role, (topics.FLEET_ALERTS,))
        rights.grant(self.role, ["s3:ListBucket"], [self._stores.spool.bucket_arn])
        rights.grant(self.role, ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics"], ["*"])

    def _grant_watch(self) -> None:
        """Reports runaway devices, quarantines them by overrides, and records last-seen times."""
        stores = self._stores
        self._kafka.grant_write(self.role, (topics.FLEET_ALERTS,))
        rights.grant_objects(self.role, stores.artifacts, rights.READ_WRITE, s3_keys.OVERRIDES)
        noted = ("device_id", "last_seen_ms", "firmware")
        rights.grant_items(self.role, stores.registry, ["dynamodb:UpdateItem"], attributes=noted)
