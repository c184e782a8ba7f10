"""Spark on AWS Glue 6.0: a streaming job for each application."""

from itertools import batched
from typing import Final

from aws_cdk import Acknowledgment, Aws, Duration, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_glue as glue
from aws_cdk import aws_stepfunctions as stepfunctions
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from fleetlane.events.lanes import Lane
from infra.constructs.jobs.application_role import ApplicationRole, EngineContext
from infra.constructs.jobs.restarts import KeptRunning, job_name
from infra.constructs.jobs.spark_applications import SparkApplication
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import grant, suppress, suppress_wildcard

GLUE_VERSION: Final = "6.0"
WORKER_TYPE: Final = "G.1X"
ENDED: Final = ("EXPIRED", "FAILED", "STOPPED", "SUCCEEDED", "TIMEOUT")

_LOG_ACTIONS: Final = ("logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents")
_NETWORK_ACTIONS: Final = (
    *("ec2:CreateNetworkInterface", "ec2:CreateTags", "ec2:DeleteNetworkInterface"),
    *("ec2:DescribeNetworkInterfaces", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups"),
    *("ec2:DescribeSubnets", "ec2:DescribeVpcAttribute", "ec2:DescribeVpcEndpoints"),
)
_NAMELESS: Final = "Glue's network interfaces have no name until they exist; metrics have none."


class GlueEngine(Construct):
    """The applications as Glue jobs, each kept running."""

    principal = "glue.amazonaws.com"

    def __init__(self, scope: Construct, name: str, *, context: EngineContext) -> None:
        super().__init__(scope, name)
        self._context = context
        key_arn = context.key.key_arn
        bookmarks = {"jobBookmarksEncryptionMode": "CSE-KMS", "kmsKeyArn": key_arn}
        self._encryption = glue.CfnSecurityConfiguration(
            self,
            "Encryption",
            name=Stack.of(self).stack_name,
            encryption_configuration={
                "cloudWatchEncryption": {"cloudWatchEncryptionMode": "DISABLED"},
                "jobBookmarksEncryption": bookmarks,
                "s3Encryptions": [{"s3EncryptionMode": "SSE-KMS", "kmsKeyArn": key_arn}],
            },
        )
        self._connections = [self._connection(subnet) for subnet in context.network.subnets]

    def run(self, application: SparkApplication, role: ApplicationRole) -> KeptRunning:
        name = job_name(self, application.name)
        log_prefix = f"/fleetlane/{name}"
        self._let_run(role, log_prefix)
        arguments = self._arguments(application, log_prefix)
        job = self._job(application, role.role.role_arn, name, arguments)
        suppress(job, "The log groups are ours, with the key of the stage.", "GL1")
        arn = Stack.of(self).format_arn(service="glue", resource="job", resource_name=name)
        start = tasks.CallAwsService(
            self,
            f"start {application.name}",
            service="glue",
            action="startJobRun",
            iam_action="glue:StartJobRun",
            iam_resources=[arn],
            parameters={"JobName": job.ref},
        )
        runs = stepfunctions.Succeed(self, f"{application.name} runs already")
        # One that has ended counts on for a while.
        too_many = ["Glue.ConcurrentRunsExceededException"]
        wait = Duration.seconds(15)
        start.add_retry(errors=too_many, interval=wait, max_attempts=6, backoff_rate=1)
        start.add_catch(runs, errors=too_many)
        return KeptRunning(
            self,
            application.name,
            starting=start,
            started_with={
                "arguments": arguments,
                "script": self._context.code.script_url,
                "workers": application.workers,
                "version": GLUE_VERSION,
            },
            ended=events.EventPattern(
                source=["aws.glue"],
                detail_type=["Glue Job State Change"],
                detail={"jobName": [name], "state": list(ENDED)},
            ),
        )

    def _job(
        self, application: SparkApplication, role_arn: str, name: str, arguments: dict[str, str]
    ) -> glue.CfnJob:
        """Glue does not retry the run: KeptRunning restarts it.

        Glue ends each at least once a week: an hour after the one before it, on Sunday night (UTC).
        """
        command = {"name": "gluestreaming", "pythonVersion": "3"}
        return glue.CfnJob(
            self,
            application.name,
            name=name,
            role=role_arn,
            glue_version=GLUE_VERSION,
            worker_type=WORKER_TYPE,
            number_of_workers=application.workers,
            execution_property={"maxConcurrentRuns": 1},
            max_retries=0,
            maintenance_window=f"Sun:{[*Lane, None].index(application.lane)}",
            connections={"connections": self._connections},
            security_configuration=self._encryption.ref,
            command={**command, "scriptLocation": self._context.code.script_url},
            default_arguments=arguments,
        )

    def _arguments(self, application: SparkApplication, log_prefix: str) -> dict[str, str]:
        code = self._context.code
        return {
            **dict(batched(application.argv(self._context.places), 2, strict=True)),
            "--extra-py-files": code.sources_url,
            "--additional-python-modules": code.wheels_url,
            "--python-modules-installer-option": "--no-index",
            "--datalake-formats": "iceberg",
            "--extra-jars": ",".join(code.kafka_jar_urls),
            "--user-jars-first": "true",
            "--enable-metrics": "true",
            "--enable-auto-scaling": str(application.is_scaled).lower(),
            "--custom-logGroup-prefix": log_prefix,
        }

    def _connection(self, subnet: ec2.ISubnet) -> str:
        """One zone's. All workers of a run are in one: Glue takes the first that is healthy."""
        network, zone = self._context.network, subnet.availability_zone
        connection = glue.CfnConnection(
            self,
            f"Connection-{zone}",
            catalog_id=Aws.ACCOUNT_ID,
            connection_input={
                "name": f"{Stack.of(self).stack_name}-{zone}",
                "connectionType": "NETWORK",
                "physicalConnectionRequirements": {
                    "availabilityZone": zone,
                    "subnetId": subnet.subnet_id,
                    "securityGroupIdList": [network.jobs_group.security_group_id],
                },
            },
        )
        reason = "Zones are given by the stage, so that synthesis needs no credentials."
        given = Acknowledgment(id="CloudFormation-Validate::W3010", reason=reason)
        Validations.of(connection).acknowledge(given)
        return connection.ref

    def _let_run(self, role: ApplicationRole, log_prefix: str) -> None:
        """What Glue itself does as the job's role: it logs, measures, and joins the network."""
        stack, key = Stack.of(self), self._context.key
        for name in ("error", "output"):  # Glue's names: what Spark logs, and what it prints
            logs = log_group(role, name, log_group_name=f"{log_prefix}/{name}", key=key)
            grant(role.role, _LOG_ACTIONS, [logs.log_group_arn])
        glues = {"StringEquals": {"cloudwatch:namespace": "Glue"}}
        grant(role.role, ["cloudwatch:PutMetricData"], ["*"], conditions=glues)
        zones = [subnet.availability_zone for subnet in self._context.network.subnets]
        names = [("connection", f"{stack.stack_name}-{zone}") for zone in zones]
        connections = [
            stack.format_arn(service="glue", resource=resource, resource_name=name)
            for resource, name in [("catalog", None), *names]
        ]
        grant(role.role, ["glue:GetConnection"], connections)
        grant(role.role, _NETWORK_ACTIONS, ["*"])
        suppress_wildcard(role.role, "*", _NAMELESS)
