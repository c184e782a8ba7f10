"""Spark on EMR Serverless, the same Spark as Glue 6.0: one EMR application for each of ours."""

from math import ceil
from pathlib import Path
from string import Template
from typing import Any, Final

from aws_cdk import aws_emrserverless as emrserverless
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as stepfunctions
from aws_cdk import aws_stepfunctions_tasks as tasks
from aws_cdk.aws_logs import ILogGroup
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.lanes import LANE_LIMITS
from infra.constructs.jobs.application_role import ApplicationRole, EngineContext
from infra.constructs.jobs.restarts import KeptRunning, job_name
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX, SparkApplication
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import grant, suppress_wildcard
from infra.stages import WORKER_CPUS, WORKER_MEMORY_GIB

RELEASE: Final = "emr-spark-8.1.0"
ENDED: Final = ("CANCELLED", "FAILED", "SUCCESS")
ARCHITECTURE: Final = "X86_64"  # what Glue runs on too: both unpack the same packages
DRIVER_OVERHEAD_GIB: Final = 4
"""Of the driver's memory: for its Python with the watch's counts, and the JVM beside its heap."""

JVM_OVERHEAD_GIB: Final = 1
PYTHON_WORKER_BYTES: Final = 768 << 20
"""A task's Python: its batch, what it shares with its parser, and parsers that wait beside it."""

IMAGES_PYTHON: Final = "python3.13"  # as the release has it: 3.11 and 3.13, it says, but not where
FAILED_ATTEMPTS_AN_HOUR: Final = 10
"""EMR's own limit. After that the run has failed, and a new one is started."""

ALIVE: Final = ["SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED", "CANCELLING"]
_PROPERTIES: Final = Path(__file__).with_name("emr.properties")
_NAMELESS: Final = "Log groups are listed, and metrics written, without a resource name."


class EmrEngine(Construct):
    """The applications on EMR Serverless, each kept running."""

    principal = "emr-serverless.amazonaws.com"

    def __init__(self, scope: Construct, name: str, *, context: EngineContext) -> None:
        super().__init__(scope, name)
        self._context = context

    def run(self, application: SparkApplication, role: ApplicationRole) -> KeptRunning:
        logs = log_group(role, "Logs")
        logs.grant_write(role.role)
        # EMR looks for the log group, as the application's role, before it writes.
        grant(role.role, ["logs:DescribeLogGroups"], ["*"])
        grant(role.role, ["logs:DescribeLogStreams"], [logs.log_group_arn])
        suppress_wildcard(role.role, "*", _NAMELESS)
        settings = self._settings(application, logs)
        ours = emrserverless.CfnApplication(
            self, application.name, name=job_name(self, application.name), type="SPARK", **settings
        )
        look = self._call(ours, f"look for {application.name}", "listJobRuns", States=ALIVE)
        driver = {
            "SparkSubmit": {
                "EntryPoint": self._context.code.script_url,
                "EntryPointArguments": application.argv(self._context.places),
                "SparkSubmitParameters": self._submit_parameters(application),
            }
        }
        start = self._start(application.name, role.role, ours, driver)
        runs = stepfunctions.Succeed(self, f"{application.name} runs already")
        is_alive = stepfunctions.Condition.is_present("$.JobRuns[0]")
        choice = stepfunctions.Choice(self, f"does {application.name} run?")
        look.next(choice.when(is_alive, runs).otherwise(start))
        return KeptRunning(
            self,
            application.name,
            starting=self._unless_held(application, look),
            started_with={"application": settings, "driver": driver},
            ended=events.EventPattern(
                source=["aws.emr-serverless"],
                detail_type=["EMR Serverless Job Run State Change"],
                detail={"applicationId": [ours.attr_application_id], "state": list(ENDED)},
            ),
            rests=(ours, settings),
        )

    def _settings(self, application: SparkApplication, logs: ILogGroup) -> dict[str, Any]:
        """All of an application that a deploy may change: EMR has it stopped for that."""
        network = self._context.network
        to_logs = {"enabled": True, "logGroupName": logs.log_group_name}
        return {
            "release_label": RELEASE,
            "architecture": ARCHITECTURE,
            "maximum_capacity": {
                "cpu": f"{application.workers * WORKER_CPUS} vCPU",
                "memory": f"{application.workers * WORKER_MEMORY_GIB} GB",
            },
            "network_configuration": {
                "securityGroupIds": [network.jobs_group.security_group_id],
                "subnetIds": [subnet.subnet_id for subnet in network.subnets],
            },
            # One run at a time: two would write the same checkpoints.
            "scheduler_configuration": {"maxConcurrentRuns": 1, "queueTimeoutMinutes": 15},
            "monitoring_configuration": {"cloudWatchLoggingConfiguration": to_logs},
        }

    def _start(
        self, name: str, role: iam.Role, ours: emrserverless.CfnApplication, driver: dict[str, Any]
    ) -> tasks.CallAwsService:
        pass_role = iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": self.principal}},
        )
        return self._call(
            ours,
            f"start {name}",
            "startJobRun",
            also=[pass_role],
            Name=name,
            Mode="STREAMING",
            ClientToken=stepfunctions.JsonPath.uuid(),
            ExecutionRoleArn=role.role_arn,
            RetryPolicy={"MaxFailedAttemptsPerHour": FAILED_ATTEMPTS_AN_HOUR},
            JobDriver=driver,
        )

    def _submit_parameters(self, application: SparkApplication) -> str:
        code, own = self._context.code, self._context.code.python_in_environment
        # Each task has a Python beside the JVM, and that a parser: EMR would end the container as
        # soon as a few of them use what their lane allows them.
        lane = application.lane
        task_bytes = PYTHON_WORKER_BYTES + (LANE_LIMITS[lane].memory_bytes_max if lane else 0)
        overhead_gib = JVM_OVERHEAD_GIB + ceil(WORKER_CPUS * task_bytes / 2**30)
        properties = Template(_PROPERTIES.read_text()).substitute(
            jars=",".join((*code.kafka_jar_urls, code.iceberg_jar_url)),
            sources=code.sources_url,
            environment=code.environment_url,
            python=f"./environment/{own}" if own else IMAGES_PYTHON,
            cpus=WORKER_CPUS,
            driver_gib=WORKER_MEMORY_GIB - DRIVER_OVERHEAD_GIB,
            driver_overhead_gib=DRIVER_OVERHEAD_GIB,
            executor_gib=WORKER_MEMORY_GIB - overhead_gib,
            executor_overhead_gib=overhead_gib,
            is_scaled=str(application.is_scaled).lower(),
            executors=application.executors,
            executors_first=1 if application.is_scaled else application.executors,
        )
        lines = (line for line in properties.splitlines() if not line.startswith("#"))
        return " ".join(f"--conf {line}" for line in lines)

    def _unless_held(
        self, application: SparkApplication, look: tasks.CallAwsService
    ) -> tasks.CallAwsService:
        """A deploy that changes the application holds it until the time in an object of S3.

        No object, none that can be read, and a time that is over hold nothing.
        """
        checkpoints = self._context.stores.checkpoints
        key = f"{s3_keys.HELD_APPLICATIONS}{APPLICATION_PREFIX}{application.name}"
        held = tasks.CallAwsService(
            self,
            f"read until when {application.name} is held",
            service="s3",
            action="getObject",
            iam_resources=[checkpoints.arn_for_objects(key)],
            additional_iam_statements=[
                iam.PolicyStatement(actions=["kms:Decrypt"], resources=[self._context.key.key_arn])
            ],
            parameters={"Bucket": checkpoints.bucket_name, "Key": key},
        )
        is_held = stepfunctions.Condition.timestamp_greater_than_json_path(
            "$.Body", "$$.State.EnteredTime"
        )
        choice = stepfunctions.Choice(self, f"is {application.name} held?")
        changes = stepfunctions.Succeed(self, f"a deploy changes {application.name}")
        held.add_catch(look)
        held.next(choice.when(is_held, changes).otherwise(look))
        return held

    def _call(
        self,
        ours: emrserverless.CfnApplication,
        name: str,
        action: str,
        *,
        also: list[iam.PolicyStatement] | None = None,
        **parameters: Any,
    ) -> tasks.CallAwsService:
        return tasks.CallAwsService(
            self,
            name,
            service="emrserverless",
            action=action,
            iam_action=f"emr-serverless:{action[:1].upper()}{action[1:]}",
            iam_resources=[ours.attr_arn],
            additional_iam_statements=also,
            parameters={"ApplicationId": ours.attr_application_id, **parameters},
        )
