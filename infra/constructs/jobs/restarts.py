"""Keeping streaming jobs running: whenever one ended, and when a deploy changed it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from aws_cdk import Aws, CustomResource, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions
from aws_cdk import custom_resources as custom
from constructs import Construct

from fleetlane.events import s3_keys
from fleetlane.events.job_arguments import Engine
from infra.constructs import rights
from infra.constructs.functions.function import FunctionContext, FunctionSize, PlatformFunction
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX
from infra.constructs.platform_stack import log_group, vended_log_group

CHECK_MINUTES: Final = 5


def job_name(scope: Construct, application: str) -> str:
    """What an application is called on its engine."""
    return f"{Stack.of(scope).stack_name}-{application}"


class KeptRunning(Construct):
    """Runs ``starting`` as soon as a run ended, however it ended, and checks every five minutes.

    So a job starts after an event that was lost, too. ``starting`` must be harmless while one is
    under way. To stop a job for good, disable both rules first.

    ``ended`` is the event of a run's end, ``started_with`` all that one is started with. ``rests``
    is what the engine changes only while the job is stopped, with all that a deploy may change.
    """

    def __init__(
        self,
        scope: Construct,
        application: str,
        *,
        starting: stepfunctions.IChainable,
        started_with: Mapping[str, Any],
        ended: events.EventPattern,
        rests: tuple[Construct, Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(scope, f"{application}-kept-running")
        self.application, self.started_with, self.rests = application, started_with, rests
        self.machine = stepfunctions.StateMachine(
            self,
            "Starts",
            definition_body=stepfunctions.DefinitionBody.from_chainable(starting),
            timeout=Duration.minutes(10),
            tracing_enabled=True,
            logs=stepfunctions.LogOptions(
                destination=vended_log_group(self, "Logs"), level=stepfunctions.LogLevel.ALL
            ),
        )
        reason = "The delivery of a state machine's logs and traces has no resources to name."
        rights.suppress(self.machine.role, reason, "IAM5[Resource::*]")
        target = targets.SfnStateMachine(self.machine, input=events.RuleTargetInput.from_object({}))
        rule = partial(events.Rule, self, targets=[target])
        self.ended = rule(
            "Ended", description="A streaming job ended: restart it", event_pattern=ended
        )
        again = rule(
            "LooksAgain",
            description="Start a streaming job that does not run",
            schedule=events.Schedule.rate(Duration.minutes(CHECK_MINUTES)),
        )
        self.rules = (self.ended, again)


RESTARTED: Final = "RestartedJob"
RESTED: Final = "RestedApplication"
LOOK_S: Final = 5
LIMIT_MINUTES: Final = 55  # CloudFormation itself waits an hour
_BY_CDK: Final = "CDK's own functions, which forward a deploy's calls; CDK chooses their runtime."
_WAITER: Final = "CDK's own state machine, one step that calls one function until it is done."


class JobRestarts(Construct):
    """Restarts jobs one after the other: the next one once the one before runs.

    One that does not run fails the deploy. CloudFormation then puts back what was before, and this
    is called once more, for what was before.
    """

    def __init__(self, scope: Construct, name: str, *, context: FunctionContext) -> None:
        super().__init__(scope, name)
        self._context = context
        self._called = PlatformFunction(
            self,
            "job_restarts",
            context=context,
            size=FunctionSize(memory_mib=256, timeout_s=60),
            environment={
                "CHECKPOINTS_BUCKET": context.stores.checkpoints.bucket_name,
                "ENGINE": context.stage.engine,
            },
            in_network=False,  # it asks AWS's own APIs alone
        )
        self._grant(self._called.role)
        self._token = self._provider().service_token

    def restart(self, jobs: Sequence[KeptRunning]) -> None:
        """Have jobs restarted in this order, those that are started with something else."""
        earlier: CustomResource | None = None
        for kept in jobs:
            after = self._resource(RESTARTED, kept, kept.started_with)
            after.node.add_dependency(kept.machine)
            for rule in kept.rules:  # they would start what is ended to be deleted
                rule.node.add_dependency(after)
            first = after
            if kept.rests is not None:
                resting, settings = kept.rests
                first = self._resource(RESTED, kept, settings)
                resting.node.add_dependency(first)
            if earlier is not None:
                first.node.add_dependency(earlier)
            earlier = after

    def _resource(self, kind: str, kept: KeptRunning, settings: Any) -> CustomResource:
        return CustomResource(
            self,
            f"{kind}-{kept.application}",
            service_token=self._token,
            resource_type=f"Custom::{kind}",
            properties={
                "job": job_name(self, kept.application),
                "application": f"{APPLICATION_PREFIX}{kept.application}",
                "settings": Stack.of(self).to_json_string(settings),
                "machine": kept.machine.state_machine_arn if kind == RESTARTED else "",
            },
        )

    def _provider(self) -> custom.Provider:
        group = log_group(self, "Logs")
        called = self._called.function
        role = partial(rights.role_of_caller, self, called=called, group=group)
        provider = custom.Provider(
            self,
            "Call",
            on_event_handler=called,
            is_complete_handler=called,
            query_interval=Duration.seconds(LOOK_S),
            total_timeout=Duration.minutes(LIMIT_MINUTES),
            framework_on_event_role=role("Asks"),
            framework_complete_and_timeout_role=role("Looks"),
            log_group=group,
            disable_waiter_state_machine_logging=True,
        )
        rights.suppress(provider, _BY_CDK, "L1")
        rights.suppress(provider, _WAITER, "SF1", "SF2")
        for name in ("framework-isComplete", "framework-onTimeout"):
            framework = cast("lambda_.Function", provider.node.find_child(name))
            rights.suppress_versions(provider, framework)
        return provider

    def _grant(self, role: iam.Role) -> None:
        marks = (s3_keys.STOP_MARKERS, s3_keys.STARTED_MARKERS, s3_keys.HELD_APPLICATIONS)
        rights.grant_objects(role, self._context.stores.checkpoints, rights.EVERY, *marks)
        rights.grant(role, ["cloudformation:DescribeStacks"], [Aws.STACK_ID])
        self._grant_pattern(role, ["states:StartExecution"], "states", "stateMachine:*")
        if self._context.stage.engine is Engine.GLUE:
            jobs = f"job/{Stack.of(self).stack_name}-*"
            self._grant_pattern(role, ["glue:BatchStopJobRun", "glue:GetJobRuns"], "glue", jobs)
            return
        called = ["emr-serverless:ListJobRuns", "emr-serverless:StopApplication"]
        self._grant_pattern(role, called, "emr-serverless", "/applications/*")
        cancelled = ["emr-serverless:CancelJobRun"]
        self._grant_pattern(role, cancelled, "emr-serverless", "/applications/*/jobruns/*")
        rights.grant(role, ["emr-serverless:ListApplications"], ["*"])
        rights.suppress_wildcard(role, "*", "EMR lists applications without a resource name.")

    def _grant_pattern(
        self, role: iam.Role, actions: Sequence[str], service: str, resources: str
    ) -> None:
        """By pattern: their own names are known only after this may be called.

        A run has not its application's tags, so that those of EMR are cancelled whatever the stage.
        """
        stage = self._context.stage
        where = f"{service}:{stage.region}"
        tagged = {"StringEquals": {"aws:ResourceTag/fleetlane:stage": stage.name}}
        conditions = None if service == "glue" or "/jobruns/" in resources else tagged
        arn = f"arn:{Aws.PARTITION}:{where}:{Aws.ACCOUNT_ID}:{resources}"
        rights.grant(role, actions, [arn], conditions=conditions)
        seen = f"arn:<AWS::Partition>:{where}:<AWS::AccountId>:{resources}"
        reason = "Those of this stage, by name or by tag; EMR's runs have no tag."
        rights.suppress_wildcard(role, seen, reason)
