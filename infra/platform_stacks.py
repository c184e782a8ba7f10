"""Which stacks a stage has, and what each takes from the others."""

import platform

from aws_cdk import App, Tags
from aws_cdk import aws_lambda as lambda_

from infra.artifacts.folder import Artifacts
from infra.constructs.functions.deployed_flows import DeployedFlows
from infra.constructs.functions.flow_publication import FlowPublication
from infra.constructs.functions.platform_function import FunctionSurroundings
from infra.constructs.jobs.jobs_code import LocalJobsCode
from infra.constructs.kafka.endpoint import KafkaPlace
from infra.stacks.ingest import Ingest, IngestProps
from infra.stacks.network import Network, NetworkProps
from infra.stacks.processing import Processing, ProcessingProps
from infra.stacks.storage import Storage, StorageProps
from infra.stacks.streaming import Streaming, StreamingProps
from infra.stacks.watching import Watching, WatchingProps
from infra.stages import Stage


def add_cloud_stacks(app: App, stage: Stage, artifacts: Artifacts, flows: DeployedFlows) -> None:
    """All six stacks, in AWS."""
    network = Network(
        app, _name(stage, "network"), props=NetworkProps.of(stage), region=stage.region
    )
    storage = _storage(app, stage)
    streaming = Streaming(
        app,
        _name(stage, "streaming"),
        props=StreamingProps.of(stage),
        network=network,
        key=storage.key,
        region=stage.region,
    )
    ingest = _cloud_ingest(app, stage, artifacts, storage, streaming)
    processing = Processing(
        app,
        _name(stage, "processing"),
        props=ProcessingProps.of(stage),
        artifacts=artifacts,
        storage=storage,
        streaming=streaming,
    )
    publication = FlowPublication(
        processing,
        "Flows",
        flows=flows,
        uploads=processing.uploads,
        activation=ingest.flow_activation.function,
        log_retention_days=stage.log_retention_days,
    )
    publication.activated.node.add_dependency(processing.engine)  # which fetches their parsers
    Watching(
        app,
        _name(stage, "watching"),
        props=WatchingProps.of(stage),
        ingest=ingest,
        streaming=streaming,
        processing=processing,
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
    storage = _storage(app, stage)
    LocalJobsCode(storage, "JobsCode", artifacts=artifacts)
    Ingest(
        app,
        _name(stage, "ingest"),
        props=IngestProps.of(stage),
        surroundings=FunctionSurroundings(
            artifacts=artifacts,
            architecture=_of_this_machine(),
            network=None,
            log_retention_days=stage.log_retention_days,
        ),
        storage=storage,
        kafka=KafkaPlace(bootstrap_servers=bootstrap_servers, access=None),
    )


def _cloud_ingest(
    app: App, stage: Stage, artifacts: Artifacts, storage: Storage, streaming: Streaming
) -> Ingest:
    return Ingest(
        app,
        _name(stage, "ingest"),
        props=IngestProps.of(stage),
        surroundings=FunctionSurroundings(
            artifacts=artifacts,
            architecture=lambda_.Architecture.ARM_64,
            network=streaming.network,
            log_retention_days=stage.log_retention_days,
        ),
        storage=storage,
        kafka=KafkaPlace(bootstrap_servers=streaming.bootstrap_servers, access=streaming.access),
    )


def _storage(app: App, stage: Stage) -> Storage:
    return Storage(app, _name(stage, "storage"), props=StorageProps.of(stage), region=stage.region)


def _name(stage: Stage, what: str) -> str:
    return f"fleetlane-{stage.name}-{what}"


def _of_this_machine() -> lambda_.Architecture:
    is_arm = platform.machine() in ("arm64", "aarch64")
    return lambda_.Architecture.ARM_64 if is_arm else lambda_.Architecture.X86_64
