"""What devices talk to: the API and the functions behind it."""

from dataclasses import dataclass

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from fleetlane.events import s3_keys
from infra.alarms.edge import Edge
from infra.constructs.api.device_api import DeviceApi, DeviceApiProps
from infra.constructs.functions.platform_function import (
    FunctionSize,
    FunctionSurroundings,
    PlatformFunction,
)
from infra.constructs.functions.upload_functions import UploadFunctions, UploadFunctionsProps
from infra.constructs.kafka.access import CANONICAL_TOPICS, RAW_TOPICS, UNIQUE_TOPICS
from infra.constructs.kafka.endpoint import KafkaPlace
from infra.constructs.stores.access import DELETE, READ, WRITE, grant_items, grant_objects
from infra.stacks.storage import Storage
from infra.stages import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProps:
    """What differs between stages."""

    ingest: FunctionSize
    authorizer: FunctionSize
    soft_rate_limit_per_minute: int
    hard_rate_limit_per_minute: int
    topic_partitions: int
    topic_replication: int
    is_cloud: bool
    uploads: UploadFunctionsProps
    api: DeviceApiProps

    @classmethod
    def of(cls, stage: Stage) -> "IngestProps":
        return cls(
            ingest=FunctionSize(
                memory_mib=stage.ingest_memory_mib, concurrency=stage.ingest_concurrency
            ),
            authorizer=FunctionSize(concurrency=stage.authorizer_concurrency),
            soft_rate_limit_per_minute=stage.soft_rate_limit_per_minute,
            hard_rate_limit_per_minute=stage.hard_rate_limit_per_minute,
            topic_partitions=stage.topic_partitions,
            topic_replication=stage.topic_replication,
            is_cloud=stage.is_cloud,
            uploads=UploadFunctionsProps.of(stage),
            api=DeviceApiProps.of(stage),
        )


class Ingest(Stack):
    """The API with the functions behind it; and what no device calls."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        props: IngestProps,
        surroundings: FunctionSurroundings,
        storage: Storage,
        kafka: KafkaPlace,
    ) -> None:
        super().__init__(
            scope, name, env={"region": storage.region}, description="Fleetlane: what devices call"
        )
        self._props, self._storage, self._kafka = props, storage, kafka
        self._surroundings = surroundings
        ingest, authorizer = self._ingest(), self._authorizer()
        uploads = UploadFunctions(
            self,
            "Uploads",
            props=props.uploads,
            surroundings=surroundings,
            storage=storage,
            kafka=kafka,
        )
        self.flow_activation = self._flow_activation()
        self._respool()
        api = DeviceApi(
            self,
            "Api",
            props=props.api,
            ingest=ingest.function,
            uploads=uploads.issuing.function,
            authorizer=authorizer.function,
        )
        self.edge = Edge(
            api=api,
            ingest=ingest,
            authorizer=authorizer,
            flow_activation=self.flow_activation,
            uploads=uploads,
        )
        CfnOutput(self, "ApiUrl", value=api.url)
        CfnOutput(self, "ApiId", value=api.rest.rest_api_id)
        CfnOutput(self, "FlowActivationFunction", value=self.flow_activation.function.function_name)

    def _ingest(self) -> PlatformFunction:
        stores = self._storage
        ingest = PlatformFunction(
            self,
            "ingest",
            surroundings=self._surroundings,
            size=self._props.ingest,
            environment={
                **self._kafka.settings,
                "PAYLOAD_BUCKET": stores.payloads.bucket_name,
                "SPOOL_BUCKET": stores.spool.bucket_name,
                "FLOWS_BUCKET": stores.artifacts.bucket_name,
                "OVERRIDES_BUCKET": stores.artifacts.bucket_name,
                "SOFT_RATE_LIMIT_PER_MINUTE": str(self._props.soft_rate_limit_per_minute),
                "HARD_RATE_LIMIT_PER_MINUTE": str(self._props.hard_rate_limit_per_minute),
                "REGISTRY_TABLE": stores.registry.table_name,
                "RECEIPTS_TABLE": stores.receipts.table_name,
            },
            in_network=True,
        )
        grant_items(ingest.role, stores.registry, ["dynamodb:BatchGetItem"])
        grant_items(
            ingest.role, stores.receipts, ["dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"]
        )
        grant_objects(ingest.role, stores.payloads, WRITE, prefix=s3_keys.PAYLOADS)
        grant_objects(ingest.role, stores.spool, WRITE, prefix=s3_keys.SPOOL)
        grant_objects(ingest.role, stores.artifacts, READ, prefix=s3_keys.FLOWS)
        grant_objects(ingest.role, stores.artifacts, READ, prefix=s3_keys.OVERRIDES)
        if self._kafka.access is not None:
            self._kafka.access.grant_write(ingest.role, (RAW_TOPICS,))
        return ingest

    def _authorizer(self) -> PlatformFunction:
        authorizer = PlatformFunction(
            self,
            "authorizer",
            surroundings=self._surroundings,
            size=self._props.authorizer,
            environment={"REGISTRY_TABLE": self._storage.registry.table_name},
            in_network=False,  # it asks DynamoDB alone
        )
        grant_items(authorizer.role, self._storage.registry, ["dynamodb:GetItem"])
        return authorizer

    def _flow_activation(self) -> PlatformFunction:
        """One at a time: two that make different versions current would race."""
        props = self._props
        activation = PlatformFunction(
            self,
            "flow_activation",
            surroundings=self._surroundings,
            size=FunctionSize(timeout_s=90, concurrency=1 if props.is_cloud else None),
            environment={
                **self._kafka.settings,
                "FLOWS_BUCKET": self._storage.artifacts.bucket_name,
                "TOPIC_PARTITIONS": str(props.topic_partitions),
                "TOPIC_REPLICATION": str(props.topic_replication),
            },
            in_network=True,
        )
        grant_objects(
            activation.role, self._storage.artifacts, (*READ, *WRITE), prefix=s3_keys.FLOWS
        )
        grant_objects(activation.role, self._storage.artifacts, READ, prefix=s3_keys.PARSERS)
        if self._kafka.access is not None:
            topics = (RAW_TOPICS, CANONICAL_TOPICS, UNIQUE_TOPICS)
            self._kafka.access.grant_create(activation.role, topics)
        return activation

    def _respool(self) -> None:
        """One at a time: two would do the same twice. A run that is late is not made up for."""
        respool = PlatformFunction(
            self,
            "respool",
            surroundings=self._surroundings,
            size=FunctionSize(
                memory_mib=1_024, timeout_s=58, concurrency=1 if self._props.is_cloud else None
            ),
            environment={
                **self._kafka.settings,
                "SPOOL_BUCKET": self._storage.spool.bucket_name,
            },
            in_network=True,
        )
        grant_objects(respool.role, self._storage.spool, (*READ, *DELETE), prefix=s3_keys.SPOOL)
        if self._kafka.access is not None:
            self._kafka.access.grant_write(respool.role, (RAW_TOPICS,))
        every_minute = Duration.minutes(1)
        events.Rule(
            self,
            "Respools",
            description="What was spooled while Kafka was away is brought to it",
            schedule=events.Schedule.rate(every_minute),
            targets=[
                targets.LambdaFunction(
                    respool.function, retry_attempts=0, max_event_age=every_minute
                )
            ],
        )
