"""The functions of ``lambdas/uploads``: for devices, for notifications, for what was missed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from fleetlane.events import s3_keys
from infra.constructs.functions.platform_function import (
    FunctionSize,
    FunctionSurroundings,
    PlatformFunction,
)
from infra.constructs.kafka.access import RAW_TOPICS
from infra.constructs.kafka.endpoint import KafkaPlace
from infra.constructs.stores.access import READ, WRITE, grant_items, grant_objects
from infra.stacks.storage import Storage
from infra.stages import Stage

SWEEP_MINUTES: Final = 15
_BATCH_MESSAGES_MAX: Final = 10
_LANDING_TIMEOUT_S: Final = 60
_LANDING_CONCURRENCY: Final = 10
_SWEEP_TIMEOUT_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadFunctionsProps:
    """What differs between stages. A laptop reserves no concurrency."""

    upload_bytes_max: int
    soft_rate_limit_per_minute: int
    hard_rate_limit_per_minute: int
    issuing_concurrency: int | None
    is_cloud: bool

    @classmethod
    def of(cls, stage: Stage) -> "UploadFunctionsProps":
        return cls(
            upload_bytes_max=stage.upload_bytes_max,
            soft_rate_limit_per_minute=stage.soft_rate_limit_per_minute,
            hard_rate_limit_per_minute=stage.hard_rate_limit_per_minute,
            issuing_concurrency=stage.upload_concurrency,
            is_cloud=stage.is_cloud,
        )


class UploadFunctions(Construct):
    """``issuing`` is behind the API; ``landing`` behind the queue; ``sweep`` behind the clock.

    Three functions of one code, because their rights differ: who answers devices may put objects,
    by the forms that it signs, and reaches no broker; the others put nothing but marks.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        props: UploadFunctionsProps,
        surroundings: FunctionSurroundings,
        storage: Storage,
        kafka: KafkaPlace,
    ) -> None:
        super().__init__(scope, name)
        self._props, self._surroundings, self._storage = props, surroundings, storage
        self._kafka, self.queue = kafka, storage.uploads
        self.issuing = self._issuing()
        self.landing = self._landing()
        self.sweep = self._sweep()

    def _issuing(self) -> PlatformFunction:
        issuing = PlatformFunction(
            self,
            "uploads",
            surroundings=self._surroundings,
            size=FunctionSize(concurrency=self._props.issuing_concurrency),
            environment={
                **self._buckets,
                "OVERRIDES_BUCKET": self._storage.artifacts.bucket_name,
                "SOFT_RATE_LIMIT_PER_MINUTE": str(self._props.soft_rate_limit_per_minute),
                "HARD_RATE_LIMIT_PER_MINUTE": str(self._props.hard_rate_limit_per_minute),
                "REGISTRY_TABLE": self._storage.registry.table_name,
                "UPLOAD_BYTES_MAX": str(self._props.upload_bytes_max),
            },
            in_network=False,  # it asks S3 and DynamoDB alone
        )
        grant_objects(issuing.role, self._storage.payloads, WRITE, prefix=s3_keys.UPLOADS)
        grant_objects(issuing.role, self._storage.artifacts, READ, prefix=s3_keys.FLOWS)
        grant_objects(issuing.role, self._storage.artifacts, READ, prefix=s3_keys.OVERRIDES)
        grant_items(issuing.role, self._storage.registry, ["dynamodb:BatchGetItem"])
        return issuing

    def _landing(self) -> PlatformFunction:
        """Its queue asks no more of it than is reserved: nothing is throttled to a dead letter."""
        concurrency = _LANDING_CONCURRENCY if self._props.is_cloud else None
        size = FunctionSize(timeout_s=_LANDING_TIMEOUT_S, concurrency=concurrency)
        landing = self._lander("upload_landing", size)
        landing.function.add_event_source(
            sources.SqsEventSource(
                self.queue.queue,
                batch_size=_BATCH_MESSAGES_MAX,
                report_batch_item_failures=True,
                max_concurrency=concurrency,
            )
        )
        return landing

    def _sweep(self) -> PlatformFunction:
        """One at a time: its position is one object."""
        size = FunctionSize(
            timeout_s=_SWEEP_TIMEOUT_S, concurrency=1 if self._props.is_cloud else None
        )
        sweep = self._lander("upload_sweep", size)
        grant_objects(
            sweep.role, self._storage.payloads, (*READ, *WRITE), prefix=s3_keys.UPLOAD_SWEEP
        )
        events.Rule(
            self,
            "Sweeps",
            description="Uploads that nobody landed are looked for",
            schedule=events.Schedule.rate(Duration.minutes(SWEEP_MINUTES)),
            targets=[targets.LambdaFunction(sweep.function, retry_attempts=0)],
        )
        return sweep

    def _lander(self, name: str, size: FunctionSize) -> PlatformFunction:
        function = PlatformFunction(
            self,
            name,
            surroundings=self._surroundings,
            size=size,
            environment={**self._buckets, **self._kafka.settings},
            in_network=True,
        )
        stores = self._storage
        grant_objects(function.role, stores.payloads, READ, prefix=s3_keys.UPLOADS)
        grant_objects(
            function.role, stores.payloads, (*READ, *WRITE), prefix=s3_keys.LANDED_UPLOADS
        )
        grant_objects(function.role, stores.artifacts, READ, prefix=s3_keys.FLOWS)
        if self._kafka.access is not None:
            self._kafka.access.grant_write(function.role, (RAW_TOPICS,))
        return function

    @property
    def _buckets(self) -> Mapping[str, str]:
        return {
            "PAYLOAD_BUCKET": self._storage.payloads.bucket_name,
            "FLOWS_BUCKET": self._storage.artifacts.bucket_name,
        }
