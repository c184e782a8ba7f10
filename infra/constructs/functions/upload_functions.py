"""The functions of ``lambdas/uploads``: for devices, for notifications, for what was missed."""

from functools import partial

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from fleetlane.events import s3_keys
from infra.constructs.functions.function import FunctionContext, FunctionSize, PlatformFunction
from infra.constructs.kafka.access import RAW_TOPICS
from infra.constructs.rights import READ, READ_WRITE, WRITE, grant_items, grant_objects


class UploadFunctions(Construct):
    """The API calls ``issuing``, the queue ``landing``, and a schedule ``sweep``.

    Three functions of one code, because their rights differ: who answers devices may put objects,
    by the forms that it signs, and reaches no broker; the others put nothing but marks.
    """

    def __init__(self, scope: Construct, name: str, *, context: FunctionContext) -> None:
        super().__init__(scope, name)
        self._context, self._stores = context, context.stores
        self._function = partial(PlatformFunction, self, context=context)
        self._buckets = {
            "PAYLOAD_BUCKET": self._stores.payloads.bucket_name,
            "FLOWS_BUCKET": self._stores.artifacts.bucket_name,
        }
        self.queue = self._stores.uploads
        self.issuing = self._issuing()
        self.landing = self._landing()
        self.sweep = self._sweep()

    def _issuing(self) -> PlatformFunction:
        issuing = self._function(
            "uploads",
            size=FunctionSize(concurrency=self._context.stage.upload_concurrency),
            environment={
                **self._buckets,
                **self._context.device_settings,
                "UPLOAD_BYTES_MAX": str(self._context.stage.upload_bytes_max),
            },
            in_network=False,  # it asks S3 and DynamoDB alone
        )
        grant_objects(issuing.role, self._stores.payloads, WRITE, s3_keys.UPLOADS)
        grant_objects(issuing.role, self._stores.artifacts, READ, s3_keys.FLOWS, s3_keys.OVERRIDES)
        grant_items(issuing.role, self._stores.registry, ["dynamodb:BatchGetItem"])
        return issuing

    def _landing(self) -> PlatformFunction:
        """The queue calls it no more often at once than is reserved, so nothing is throttled."""
        concurrency = self._context.reserved(10)
        size = FunctionSize(timeout_s=60, concurrency=concurrency)
        landing = self._lander("upload_landing", size)
        landing.function.add_event_source(
            sources.SqsEventSource(
                self.queue.queue,
                batch_size=10,
                report_batch_item_failures=True,
                max_concurrency=concurrency,
            )
        )
        return landing

    def _sweep(self) -> PlatformFunction:
        """One at a time: its position is one object."""
        size = FunctionSize(timeout_s=300, concurrency=self._context.reserved(1))
        sweep = self._lander("upload_sweep", size)
        grant_objects(sweep.role, self._stores.payloads, READ_WRITE, s3_keys.UPLOAD_SWEEP)
        sweep.function.configure_async_invoke(retry_attempts=0)
        events.Rule(
            self,
            "Sweeps",
            description="Looks for uploads that did not land",
            schedule=events.Schedule.rate(Duration.minutes(15)),
            targets=[targets.LambdaFunction(sweep.function, retry_attempts=0)],
        )
        return sweep

    def _lander(self, name: str, size: FunctionSize) -> PlatformFunction:
        environment = {**self._buckets, **self._context.kafka.settings}
        function = self._function(name, size=size, environment=environment)
        grant_objects(function.role, self._stores.payloads, READ, s3_keys.UPLOADS)
        grant_objects(function.role, self._stores.payloads, READ_WRITE, s3_keys.LANDED_UPLOADS)
        grant_objects(function.role, self._stores.artifacts, READ, s3_keys.FLOWS)
        self._context.kafka.grant_write(function.role, (RAW_TOPICS,))
        return function
