"""Which stacks a stage has, and what each is given of the others."""

import platform

from aws_cdk import App, Tags
from aws_cdk import aws_lambda as lambda_

from infra.artifacts.folder import Artifacts
from infra.constructs.functions.flow_publication import DeployedFlows, FlowPublication
from infra.constructs.functions.platform_function import FunctionContext
from infra.constructs.jobs.jobs_code import LocalJobsCode
from infra.constructs.kafka.access import KafkaEndpoint
from infra.stacks.ingest import Ingest
from infra.stacks.network import Network
from infra.stacks.pipeline import Pipeline
from infra.stacks.processing import Processing
from infra.stacks.storage import Storage
from infra.stacks.streaming import Streaming
from infra.stacks.watching import Watching
from infra.stages import Stage


def add_cloud_stacks(app: App, stage: Stage, artifacts: Artifacts, flows: DeployedFlows) -> None:
    network = Network(app, stage=stage).private
    stores = Storage(app, stage=stage).stores
    assert stores.key is not None, "a stage in AWS has a key of its own"
    streaming = Streaming(app, stage=stage, network=network, key=stores.key)
    context = FunctionContext(
        stage=stage,
        artifacts=artifacts,
        architecture=lambda_.Architecture.ARM_64,
        network=network,
        stores=stores,
        kafka=streaming.kafka,
    )
    ingest = Ingest(app, context=context)
    processing = Processing(app, context=context, streaming=streaming)
    _publish(flows, ingest, processing)
    watching = Watching(
        app,
        stage=stage,
        edge=ingest.edge,
        cluster_name=streaming.cluster_name,
        kept_running=processing.kept_running,
    )
    if stage.pipeline_repository is not None:
        Pipeline(
            app,
            stage=stage,
            repository=stage.pipeline_repository,
            stores=stores,
            alarms=watching.topic,
        )
    for stack in (ingest, processing):
        stack.add_stack_dependency(streaming)  # its rights on topics name an export, not a resource
    Tags.of(app).add("fleetlane:stage", stage.name)


def add_local_stacks(
    app: App, stage: Stage, artifacts: Artifacts, *, bootstrap_servers: str
) -> None:
    """Stores and functions alone, for a laptop that runs Kafka and the jobs itself.

    No flows are published: LocalStack runs functions in Python alone, and CDK's own are in Node.
    The laptop's commands publish them after the deploy.
    """
    storage = Storage(app, stage=stage)
    LocalJobsCode(storage, "JobsCode", artifacts=artifacts)
    Ingest(
        app,
        context=FunctionContext(
            stage=stage,
            artifacts=artifacts,
            architecture=_of_this_machine(),
            network=None,
            stores=storage.stores,
            kafka=KafkaEndpoint(bootstrap_servers=bootstrap_servers, access=None),
        ),
    )


def _publish(flows: DeployedFlows, ingest: Ingest, processing: Processing) -> None:
    publication = FlowPublication(
        processing,
        "Flows",
        flows=flows,
        uploads=processing.uploads,
        activation=ingest.flow_activation.function,
    )
    publication.activated.node.add_dependency(processing.restarts)  # jobs fetch their parsers


def _of_this_machine() -> lambda_.Architecture:
    is_arm = platform.machine() in ("arm64", "aarch64")
    return lambda_.Architecture.ARM_64 if is_arm else lambda_.Architecture.X86_64
