"""Starting a streaming job, and restarting it whenever it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from infra.constructs.platform_stack import log_group
from infra.constructs.rights import suppress

CHECK_MINUTES: Final = 5
_OWN_LOGS: Final = "The delivery of a state machine's logs and traces has no resources to name."


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An application's job on its engine, where it has another ``name``.

    ``started_with`` is all that a run is started with. ``ended`` is the event of a run's end.
    ``rests`` is what the engine has for the job and changes only while it is stopped, and
    ``rests_for`` all that a deploy may change of it.
    """

    application: str
    name: str
    started_with: Mapping[str, Any]
    ended: events.EventPattern
    rests: Construct | None = None
    rests_for: Mapping[str, Any] | None = None


class KeptRunning(Construct):
    """Runs ``starting`` as soon as a run ended, however it ended, and checks every five minutes.

    So a job starts after an event that was lost, too. ``starting`` must be harmless while one is
    under way. To stop a job for good, disable both rules first.
    """

    def __init__(
        self, scope: Construct, name: str, *, job: Job, starting: stepfunctions.IChainable
    ) -> None:
        super().__init__(scope, name)
        self.job, self.application = job, job.application
        self.machine = self._machine(starting)
        nothing = events.RuleTargetInput.from_object({})
        target = targets.SfnStateMachine(self.machine, input=nothing)
        self.ended = events.Rule(
            self,
            "Ended",
            description="A streaming job ended: restart it",
            event_pattern=job.ended,
            targets=[target],
        )
        again = events.Rule(
            self,
            "LooksAgain",
            description="Start a streaming job that does not run",
            schedule=events.Schedule.rate(Duration.minutes(CHECK_MINUTES)),
            targets=[target],
        )
        self.rules = (self.ended, again)

    def _machine(self, starting: stepfunctions.IChainable) -> stepfunctions.StateMachine:
        group = log_group(self, "Logs")
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
