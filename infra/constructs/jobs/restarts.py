"""Starting a streaming job, and restarting it whenever it ended."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from infra.constructs.log_groups import log_group
from infra.constructs.rights import suppress

CHECK_MINUTES: Final = 5
_OWN_LOGS: Final = "The delivery of a state machine's logs and traces has no resources to name."


class KeptRunning(Construct):
    """Runs ``starting`` as soon as a run ended, however it ended, and checks every five minutes.

    So a job starts after its first deploy, and after an event that was lost. ``ended`` is the event
    of a run's end, and ``starting`` must be harmless while one is under way. To stop a job for
    good, disable both rules first.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        application: str,
        starting: stepfunctions.IChainable,
        ended: events.EventPattern,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, name)
        self.application = application
        machine = self._machine(starting, log_retention_days)
        nothing = events.RuleTargetInput.from_object({})
        target = targets.SfnStateMachine(machine, input=nothing)
        self.ended = events.Rule(
            self,
            "Ended",
            description="A streaming job ended: restart it",
            event_pattern=ended,
            targets=[target],
        )
        events.Rule(
            self,
            "LooksAgain",
            description="Start a streaming job that does not run",
            schedule=events.Schedule.rate(Duration.minutes(CHECK_MINUTES)),
            targets=[target],
        )

    def _machine(
        self, starting: stepfunctions.IChainable, log_retention_days: int
    ) -> stepfunctions.StateMachine:
        group = log_group(self, "Logs", days=log_retention_days)
        machine = stepfunctions.StateMachine(
            self,
            "Starts",
            definition_body=stepfunctions.DefinitionBody.from_chainable(starting),
            timeout=Duration.minutes(10),
            tracing_enabled=True,
            logs=stepfunctions.LogOptions(destination=group, level=stepfunctions.LogLevel.ALL),
        )
        suppress(machine.role, "IAM5[Resource::*]", _OWN_LOGS)
        return machine
