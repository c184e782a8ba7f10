"""What devices talk to: the API and the functions behind it."""

from functools import partial

from aws_cdk import CfnOutput, Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.names import audience_of
from fleetlane.events.stage_resources import StageResources, canary_key_name, parameter_name
from infra.alarms.edge import Edge
from infra.constructs import rights
from infra.constructs.api.device_api import ApiFunctions
from infra.constructs.api.http_api import HttpDeviceApi
from infra.constructs.api.rest_api import RestDeviceApi
from infra.constructs.functions.function import FunctionContext, FunctionSize, PlatformFunction
from infra.constructs.functions.upload_functions import UploadFunctions
from infra.constructs.kafka.access import CANONICAL_TOPICS, RAW_TOPICS, UNIQUE_TOPICS
from infra.constructs.platform_stack import PlatformStack
from infra.stages import Api


class Ingest(PlatformStack):
    """The API with the functions behind it; the functions that no device calls; their names."""

    def __init__(self, scope: Construct, *, context: FunctionContext) -> None:
        stage = context.stage
        super().__init__(scope, "ingest", stage=stage, description="what devices call")
        self._context, self._stores = context, context.stores
        self._function = partial(PlatformFunction, self, context=context)
        ingest, authorizer = self._ingest(), self._authorizer()
        uploads = UploadFunctions(self, "Uploads", context=context)
        self.flow_activation = self._flow_activation()
        self._respool()
        functions = ApiFunctions(
            ingest=ingest.function, uploads=uploads.issuing.function, authorizer=authorizer.function
        )
        kind = HttpDeviceApi if stage.api is Api.HTTP else RestDeviceApi
        api = kind(self, "Api", stage=stage, functions=functions)
        self.edge = Edge(
            api=api,
            ingest=ingest,
            authorizer=authorizer,
            flow_activation=self.flow_activation,
            uploads=uploads,
            canary=self._canary(api.url) if stage.has_canary else None,
        )
        CfnOutput(self, "ApiUrl", value=api.url)
        CfnOutput(self, "ApiId", value=api.api_id)
        self._write_resources(api.url, ingest.function, uploads.issuing.function)

    def _write_resources(self, api_url: str, *answering: lambda_.Function) -> None:
        """The names that operators' commands need; whoever runs them may read the parameter."""
        stage, stores, kafka = self.stage, self._stores, self._context.kafka
        resources = StageResources(
            stage=stage.name,
            region=stage.region,
            api_url=api_url,
            kafka_bootstrap_servers=kafka.bootstrap_servers,
            kafka_security=kafka.security,
            devices_table=stores.registry.table_name,
            flows_bucket=stores.artifacts.bucket_name,
            overrides_bucket=stores.artifacts.bucket_name,
            payload_bucket=stores.payloads.bucket_name,
            parked_bucket=stores.parked.bucket_name,
            lake_bucket=stores.lake.bucket_name,
            raw_archive_days=stage.raw_archive_days,
            lake_database=stage.lake_database,
            answering_logs=tuple(one.log_group.log_group_name for one in answering),
            flow_activation_function=self.flow_activation.function.function_name,
        )
        ssm.StringParameter(
            self,
            "Resources",
            parameter_name=parameter_name(stage.name),
            string_value=resources.to_json(),
            description="What the stage is made of, for operators' commands",
        )

    def _ingest(self) -> PlatformFunction:
        stores = self._stores
        ingest = self._function(
            "ingest",
            size=FunctionSize(
                memory_mib=self.stage.ingest_memory_mib, concurrency=self.stage.ingest_concurrency
            ),
            environment={
                **self._context.kafka.settings,
                "PAYLOAD_BUCKET": stores.payloads.bucket_name,
                "SPOOL_BUCKET": stores.spool.bucket_name,
                "FLOWS_BUCKET": stores.artifacts.bucket_name,
                **self._context.device_settings,
                "RECEIPTS_TABLE": stores.receipts.table_name,
            },
        )
        role, reads = ingest.role, ["dynamodb:BatchGetItem"]
        rights.grant_items(role, stores.registry, reads)
        rights.grant_items(role, stores.receipts, [*reads, "dynamodb:BatchWriteItem"])
        rights.grant_objects(role, stores.payloads, rights.WRITE, s3_keys.PAYLOADS)
        rights.grant_objects(role, stores.spool, rights.WRITE, s3_keys.SPOOL)
        rights.grant_objects(role, stores.artifacts, rights.READ, s3_keys.FLOWS, s3_keys.OVERRIDES)
        self._context.kafka.grant_write(role, (RAW_TOPICS,))
        return ingest

    def _authorizer(self) -> PlatformFunction:
        authorizer = self._function(
            "authorizer",
            size=FunctionSize(concurrency=self.stage.authorizer_concurrency),
            environment={
                "REGISTRY_TABLE": self._stores.registry.table_name,
                "AUDIENCES": audience_of(self.stage.name),
            },
            in_network=False,  # it asks DynamoDB alone
        )
        rights.grant_items(authorizer.role, self._stores.registry, ["dynamodb:GetItem"])
        return authorizer

    def _flow_activation(self) -> PlatformFunction:
        """One at a time: two that make different versions current would race."""
        kafka, artifacts = self._context.kafka, self._stores.artifacts
        activation = self._function(
            "flow_activation",
            size=FunctionSize(timeout_s=90, concurrency=self._context.reserved(1)),
            environment={
                **kafka.settings,
                "FLOWS_BUCKET": artifacts.bucket_name,
                "TOPIC_PARTITIONS": str(self.stage.topic_partitions),
                "TOPIC_REPLICATION": str(self.stage.topic_replication),
                "REPLICAS_MAX": str(self.stage.replicas_max),
            },
        )
        rights.grant_objects(activation.role, artifacts, rights.READ_WRITE, s3_keys.FLOWS)
        rights.grant_objects(activation.role, artifacts, rights.READ, s3_keys.PARSERS)
        if kafka.access is not None:
            topics = (RAW_TOPICS, CANONICAL_TOPICS, UNIQUE_TOPICS)
            kafka.access.grant_create(activation.role, topics)
        return activation

    def _respool(self) -> None:
        """One at a time: two would do the same twice. A late run is skipped."""
        kafka, spool = self._context.kafka, self._stores.spool
        respool = self._function(
            "respool",
            size=FunctionSize(memory_mib=1024, timeout_s=58, concurrency=self._context.reserved(1)),
            environment={**kafka.settings, "SPOOL_BUCKET": spool.bucket_name},
        )
        rights.grant_objects(respool.role, spool, rights.EVERY, s3_keys.SPOOL)
        kafka.grant_write(respool.role, (RAW_TOPICS,))
        every_minute = Duration.minutes(1)
        respool.function.configure_async_invoke(retry_attempts=0, max_event_age=every_minute)
        events.Rule(
            self,
            "Respools",
            description="Records that were spooled while Kafka was unavailable are produced",
            schedule=events.Schedule.rate(every_minute),
            targets=[targets.LambdaFunction(respool.function, retry_attempts=0)],
        )

    def _canary(self, api_url: str) -> PlatformFunction:
        """It talks to the API alone, as devices do, at the beginning of each minute.

        Two at most: a minute that waits for answers does not hold up the next. An event that failed
        comes again with the same time, and sends the same messages.
        """
        key = canary_key_name(self.stage.name)
        canary = self._function(
            "canary",
            size=FunctionSize(memory_mib=256, timeout_s=120, concurrency=2),
            environment={
                "API_URL": api_url,
                "AUDIENCE": audience_of(self.stage.name),
                "KEY_PARAMETER": key,
            },
            in_network=False,  # devices are outside too
        )
        rights.grant_parameter(canary.role, key)
        canary.function.configure_async_invoke(max_event_age=Duration.minutes(5))
        events.Rule(
            self,
            "Canaries",
            description="Sends known messages through the API in every lane",
            schedule=events.Schedule.cron(minute="*"),  # at second 0: the event's time names it
            targets=[targets.LambdaFunction(canary.function)],
        )
        return canary
