"""The CDK app: ``cdk deploy --all -c stage=dev``. Synthesis needs no credentials.

Which stacks a stage has, and what each is given of the others.
"""

import os
import platform
import sys
from pathlib import Path

from aws_cdk import App, Tags, Validations
from aws_cdk import aws_lambda as lambda_
from cdk_nag import AwsSolutionsChecks

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from infra.artifacts.folder import ROOT, Artifacts
from infra.constructs.functions.flow_publication import deployed_flows
from infra.constructs.functions.function import FunctionContext
from infra.constructs.kafka.access import KafkaEndpoint
from infra.constructs.stores.uploads import add_local_jobs_code
from infra.stacks.ingest import Ingest
from infra.stacks.network import Network
from infra.stacks.operators import Operators
from infra.stacks.pipeline import Pipeline
from infra.stacks.processing import Processing
from infra.stacks.storage import Storage
from infra.stacks.streaming import Streaming
from infra.stacks.watching import Watching
from infra.stages import BadStageError, Stage, settings_of, stage_from


def build(app: App) -> None:
    """Add a stage's stacks to ``app``, and what checks them.

    The context says which ``stage``; for the local one, ``kafka``: where the laptop's broker is.
    ``alarm_email`` is whom alarms notify, instead of the stage's. ``artifacts`` is a folder to take
    instead of the one that ``make artifacts`` fills, and ``flows``, for stages in AWS, one instead
    of the repository's. Raises a ``FleetlaneError`` where one of these is not as it must be.
    """
    name = app.node.try_get_context("stage") or ""
    settings = settings_of(name)
    email = app.node.try_get_context("alarm_email") or settings["alarm_email"]
    add_stage(app, stage_from(name, settings | {"alarm_email": email}))


def check_account(stage: Stage, credentials: str | None) -> None:
    """Refuse an account that is not the stage's, and any where one that keeps data names none.

    Without credentials there is none to deploy to.
    """
    if credentials is None or credentials == stage.account:
        return
    if stage.account is not None:
        problem = f"is {stage.account}, and your credentials are of {credentials}; use others"
        raise BadStageError(stage.name, "account", problem)
    if stage.keeps_data:
        problem = f"is missing; if this stage belongs in {credentials}, say so"
        raise BadStageError(stage.name, "account", problem)


def add_stage(app: App, stage: Stage) -> None:
    """The same for any stage, of the table or not; raises as ``build`` does."""
    check_account(stage, os.environ.get("CDK_DEFAULT_ACCOUNT"))  # noqa: TID251 - cdk's own
    folder = app.node.try_get_context("artifacts")
    artifacts = Artifacts(folder=Path(folder)) if folder else Artifacts()
    if stage.keeps_data and not stage.alarm_email:
        problem = "is missing: alarms would reach nobody; set it, or give `-c alarm_email=ADDRESS`"
        raise BadStageError(stage.name, "alarm_email", problem)
    if stage.is_cloud:
        flows = Path(app.node.try_get_context("flows") or ROOT / "flows")
        _add_cloud_stacks(app, stage, artifacts, deployed_flows(flows, artifacts))
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        return
    kafka = app.node.try_get_context("kafka")
    if not kafka:
        problem = "is missing; say where the broker is by `-c kafka=HOST:PORT`"
        raise BadStageError(stage.name, "kafka", problem)
    _add_laptop(app, stage, artifacts, bootstrap_servers=kafka)


def _add_cloud_stacks(app: App, stage: Stage, artifacts: Artifacts, flows: PublishedFlows) -> None:
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
    processing.publish(flows, artifacts.parsers_folder(), ingest.flow_activation.function)
    watching = Watching(app, edge=ingest.edge, streaming=streaming, processing=processing)
    if stage.has_operator_host:
        Operators(app, context=context)
    if stage.pipeline_repository is not None:
        Pipeline(app, stage=stage, stores=stores, alarms=watching.topic)
    for stack in (ingest, processing):
        stack.add_stack_dependency(streaming)  # its rights on topics name an export, not a resource
    Tags.of(app).add("fleetlane:stage", stage.name)


def _add_laptop(app: App, stage: Stage, artifacts: Artifacts, *, bootstrap_servers: str) -> None:
    """Stores and functions alone, for a laptop that runs Kafka and the jobs itself.

    No flows are published: LocalStack runs functions in Python alone, and CDK's own are in Node.
    The laptop's commands publish them after the deploy.
    """
    storage, architectures = Storage(app, stage=stage), lambda_.Architecture
    is_arm = platform.machine() in ("arm64", "aarch64")
    add_local_jobs_code(storage, artifacts)
    Ingest(
        app,
        context=FunctionContext(
            stage=stage,
            artifacts=artifacts,
            architecture=architectures.ARM_64 if is_arm else architectures.X86_64,
            network=None,
            stores=storage.stores,
            kafka=KafkaEndpoint(bootstrap_servers=bootstrap_servers, access=None),
        ),
    )


def main() -> None:
    """Synthesize, or say in one sentence why not."""
    app = App()
    try:
        build(app)
    except FleetlaneError as refusal:
        sys.exit(f"error: {refusal}")
    app.synth()


if __name__ == "__main__":
    main()
