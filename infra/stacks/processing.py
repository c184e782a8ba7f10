"""The Spark applications, on the engine that the stage names."""

from pathlib import Path

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.job_arguments import Engine
from infra.constructs.functions.flow_publication import FlowPublication
from infra.constructs.functions.function import FunctionContext
from infra.constructs.jobs.application_role import ApplicationRole, EngineContext
from infra.constructs.jobs.emr_engine import EmrEngine
from infra.constructs.jobs.glue_engine import GlueEngine
from infra.constructs.jobs.restarts import JobRestarts, KeptRunning
from infra.constructs.jobs.spark_applications import Places, spark_applications
from infra.constructs.platform_stack import PlatformStack
from infra.constructs.stores.uploads import BucketUploads, JobsCode
from infra.stacks.streaming import Streaming


class Processing(PlatformStack):
    """Five applications with a role each, on an engine that restarts them."""

    def __init__(self, scope: Construct, *, context: FunctionContext, streaming: Streaming) -> None:
        stage, stores = context.stage, context.stores
        super().__init__(scope, "processing", stage=stage, description="the Spark jobs")
        self.uploads = BucketUploads(self, "Uploads", bucket=stores.artifacts)
        code = JobsCode(self.uploads, artifacts=context.artifacts)
        assert stores.key is not None, "a stage in AWS has a key of its own"
        shared = EngineContext(
            code=code,
            kafka=streaming.access,
            stores=stores,
            places=Places(
                kafka_bootstrap_servers=streaming.kafka.bootstrap_servers,
                checkpoint_folder=f"s3://{stores.checkpoints.bucket_name}",
                flows_bucket=stores.artifacts.bucket_name,
                payload_bucket=stores.payloads.bucket_name,
                parked_bucket=stores.parked.bucket_name,
                lake_bucket=stores.lake.bucket_name,
                spool_bucket=stores.spool.bucket_name,
                registry_table=stores.registry.table_name,
                region=stage.region,
            ),
            network=streaming.network,
            key=stores.key,
        )
        kind = GlueEngine if stage.engine is Engine.GLUE else EmrEngine
        self.engine = kind(self, "Engine", context=shared)
        self.kept_running: list[KeptRunning] = []
        for application in spark_applications(stage):
            role = ApplicationRole(
                self, application=application, principal=kind.principal, context=shared
            )
            kept = self.engine.run(application, role)
            kept.node.add_dependency(role)  # its rights and logs outlive it
            self.kept_running.append(kept)
        self.engine.node.add_dependency(code.uploaded)
        self.restarts = JobRestarts(self, "Restarts", context=context)
        self.restarts.restart(self.kept_running[::-1])  # what must be fast comes last

    def publish(self, flows: PublishedFlows, parsers: Path, activation: lambda_.Function) -> None:
        """Put the repository's flows into force, once jobs run that can fetch their parsers."""
        publication = FlowPublication(
            self, "Flows", flows=flows, parsers=parsers, uploads=self.uploads, activation=activation
        )
        for one in (publication.activated, *publication.uploaded):
            one.node.add_dependency(self.restarts)
