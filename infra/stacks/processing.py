"""The Spark applications, on the engine that the stage names."""

from dataclasses import dataclass

from aws_cdk import Stack
from constructs import Construct

from infra.artifacts.folder import Artifacts
from infra.constructs.jobs import emr_engine, glue_engine
from infra.constructs.jobs.application_role import ApplicationRole
from infra.constructs.jobs.emr_engine import EmrEngine
from infra.constructs.jobs.engine_context import EngineSurroundings
from infra.constructs.jobs.glue_engine import GlueEngine
from infra.constructs.jobs.jobs_code import JobsCode
from infra.constructs.jobs.spark_applications import Places, SparkApplication, spark_applications
from infra.constructs.stores.bucket_uploads import BucketUploads
from infra.stacks.storage import Storage
from infra.stacks.streaming import Streaming
from infra.stages import Engine, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingProps:
    """What differs between stages."""

    stage: str
    engine: Engine
    applications: tuple[SparkApplication, ...]
    log_retention_days: int

    @classmethod
    def of(cls, stage: Stage) -> "ProcessingProps":
        return cls(
            stage=stage.name,
            engine=stage.engine,
            applications=spark_applications(
                fast_workers=stage.fast_workers,
                standard_workers=stage.standard_workers,
                slow_workers=stage.slow_workers,
            ),
            log_retention_days=stage.log_retention_days,
        )


class Processing(Stack):
    """Three applications with a role each, on an engine that restarts them."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        props: ProcessingProps,
        artifacts: Artifacts,
        storage: Storage,
        streaming: Streaming,
    ) -> None:
        super().__init__(
            scope, name, env={"region": storage.region}, description="Fleetlane: the Spark jobs"
        )
        self.uploads = BucketUploads(
            self,
            "Uploads",
            bucket=storage.artifacts,
            log_retention_days=props.log_retention_days,
        )
        code = JobsCode(self.uploads, artifacts=artifacts)
        surroundings = _surroundings(props, code, storage, streaming)
        is_glue = props.engine is Engine.GLUE
        principal = glue_engine.PRINCIPAL if is_glue else emr_engine.PRINCIPAL
        engine = (GlueEngine if is_glue else EmrEngine)(self, "Engine", surroundings=surroundings)
        self.engine = engine
        self.kept_running = []
        for application in props.applications:
            role = ApplicationRole(
                self,
                application=application,
                principal=principal,
                storage=storage,
                kafka=streaming.access,
                log_retention_days=props.log_retention_days,
            )
            self.kept_running.append(engine.run(application, role))
        engine.node.add_dependency(code.uploaded)


def _surroundings(
    props: ProcessingProps,
    code: JobsCode,
    storage: Storage,
    streaming: Streaming,
) -> EngineSurroundings:
    assert storage.key is not None, "a stage in AWS has a key of its own"
    return EngineSurroundings(
        stage=props.stage,
        code=code,
        places=Places(
            bootstrap_servers=streaming.bootstrap_servers,
            checkpoint_folder=f"s3://{storage.checkpoints.bucket_name}",
            flows_bucket=storage.artifacts.bucket_name,
            payload_bucket=storage.payloads.bucket_name,
            parked_bucket=storage.parked.bucket_name,
            lake_bucket=storage.lake.bucket_name,
            registry_table=storage.registry.table_name,
        ),
        network=streaming.network,
        key=storage.key,
        log_retention_days=props.log_retention_days,
    )
