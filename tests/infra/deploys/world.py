"""An account in which a stage's jobs run: an engine, EventBridge's rules, machines and a bucket."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clients.bucket_objects import BucketObjects
from clients.job_runs import EmrRuns, GlueRuns
from fleetlane.events.s3_keys import STARTED_MARKERS, STOP_MARKERS
from lambdas.job_restarts.handler import CheckpointsUnavailableError, answer
from lambdas.job_restarts.service import Job
from tests.infra.deploys.clock_and_bucket import Bucket, Clock, Time
from tests.infra.deploys.emr import Emr
from tests.infra.deploys.engines import Start, refusal
from tests.infra.deploys.glue import Glue
from tests.infra.deploys.state_machines import StatesError, executed

TICK_S: Final = 5
BEGINS_S: Final = 15
RULE_S: Final = 300


@dataclass
class World:
    """``start`` is what a run is; by default an application that does as it should.

    Its time and its bucket of checkpoints can be real ones too.
    ``broken`` and ``idle`` are words in what a run is started with: one with such a word fails at
    once, or never begins. One of the applications ``hanging`` sees no file that is to end it.
    ``tick_s`` is how long a resource takes, and how often the engine looks at its runs.
    """

    is_glue: bool
    start: Start | None = None
    clock: Time = field(default_factory=Clock)
    bucket: Any = None
    bucket_name: str = "checkpoints"
    broken: set[str] = field(default_factory=set)
    idle: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    tick_s: int = TICK_S

    def __post_init__(self) -> None:
        self.bucket = self.bucket or Bucket(self.clock)
        kind = Glue if self.is_glue else Emr
        self.engine: Any = kind(
            clock=self.clock, start=self.start or self._pretended, heard=self._heard
        )
        self.machines: dict[str, Mapping[str, Any]] = {}
        self.rules: dict[str, Mapping[str, Any]] = {}
        self.is_going_back = False
        self.begun: list[tuple[str, str]] = []
        self._due_s = float(RULE_S)

    def pass_(self, seconds: float) -> None:
        """Let time pass, and happen what happens meanwhile."""
        for _ in range(max(1, int(seconds / self.tick_s))):
            self.clock.pass_(self.tick_s)
            self.engine.tick()
            self._due_s -= self.tick_s
            if self._due_s <= 0:
                self._due_s = RULE_S
                for rule in tuple(self.rules.values()):
                    if "ScheduleExpression" in rule:
                        self._start_targets(rule)

    def start_execution(self, *, stateMachineArn: str, input: str) -> None:  # noqa: A002, N803
        definition, given = self.machines[stateMachineArn], json.loads(input)
        for seconds in executed(definition, given, call=self._task, now=lambda: self.clock.now):
            self.clock.pass_(seconds)

    def custom_resource(self, event: Mapping[str, Any], waiter: Mapping[str, Any]) -> None:
        """What CDK's provider framework does: once asked, its machine looks until it is done.

        Raises:
            StatesError: The function failed, or it took too long.
        """
        asked = dict(event) | self._called(event)
        failed: list[StatesError] = []

        def look(function: str, given: Mapping[str, Any]) -> None:
            if "onTimeout" in function:
                failed.append(StatesError("Timeout", "Operation timed out"))
                return
            try:
                done = self._called(given)["IsComplete"]
            except Exception as problem:  # noqa: BLE001 - the framework answers CloudFormation, and ends
                failed.append(StatesError(type(problem).__name__, str(problem)))
                return
            if not done:
                raise StatesError("Retry")

        waits = executed(waiter, asked, call=look, now=lambda: self.clock.now)
        for seconds in waits:
            self.pass_(seconds)
        for problem in failed:
            raise problem

    def running(self) -> dict[str, str]:
        """The applications that run now, and the code of each."""
        alive = [run for run in self.engine.runs if run.state == "RUNNING"]
        return dict(sorted(code_of(run.given) for run in alive))

    def _called(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return answer(
            event,
            job=self._job,
            now_ms=self.clock.now_ms,
            is_going_back=lambda _: self.is_going_back,
        )

    def _job(self, properties: Mapping[str, str]) -> Job:
        runs = GlueRuns if self.is_glue else EmrRuns
        return Job(
            name=properties["application"],
            runs=runs(self.engine, properties["job"]),
            files=BucketObjects(self.bucket, self.bucket_name, CheckpointsUnavailableError),
            start=lambda: self.start_execution(stateMachineArn=properties["machine"], input="{}"),
        )

    def _task(self, resource: str, parameters: Mapping[str, Any]) -> Any:
        *_, service, action = resource.split(":")
        try:
            if service == "s3":
                body = self.bucket.get_object(Bucket=self.bucket_name, Key=parameters["Key"])[
                    "Body"
                ]
                return {"Body": body.read().decode()}
            return self.engine.call(action[0].upper() + action[1:], parameters)
        except type(refusal("", "")) as problem:
            code = problem.response["Error"]["Code"].removesuffix("Exception")
            raise StatesError(f"{service.capitalize()}.{code}Exception", str(problem)) from None

    def _heard(self, event: Mapping[str, Any]) -> None:
        for rule in tuple(self.rules.values()):
            if _fits(rule.get("EventPattern"), event):
                self._start_targets(rule)

    def _start_targets(self, rule: Mapping[str, Any]) -> None:
        for target in rule["Targets"]:
            self.start_execution(stateMachineArn=target["Arn"], input="{}")

    def _pretended(self, given: Mapping[str, Any]) -> "Application":
        name, code = code_of(given)
        is_broken, is_idle = _has(given, self.broken), _has(given, self.idle)
        return Application(self, name, code, is_broken=is_broken, is_idle=is_idle)


@dataclass
class Application:
    """Says that it has begun, and ends when a file asks it to, as ``glue_jobs/host.py`` does."""

    world: World
    name: str
    code: str
    is_broken: bool
    is_idle: bool

    def __post_init__(self) -> None:
        self._started_ms, self._has_begun = self.world.clock.now_ms, self.is_idle

    def poll(self) -> int | None:
        objects = self.world.bucket.objects
        if self.is_broken:
            return 1
        if self.name in self.world.hanging:
            return None
        if f"{STOP_MARKERS}{self.name}" in objects:
            del objects[f"{STOP_MARKERS}{self.name}"]
            return 0
        if not self._has_begun and self.world.clock.now_ms >= self._started_ms + BEGINS_S * 1000:
            self._has_begun = True
            objects[f"{STARTED_MARKERS}{self.name}"] = (b"", self.world.clock.now)
            self.world.begun.append((self.name, self.code))
        return None

    def terminate(self) -> None:
        """The next one does as it should."""
        self.world.hanging.discard(self.name)


def code_of(given: Mapping[str, Any]) -> tuple[str, str]:
    """The application that a run is, and the folder of its code."""
    if "DefaultArguments" in given:
        name, script = (
            given["DefaultArguments"]["--application"],
            given["Command"]["ScriptLocation"],
        )
    else:
        submit = given["jobDriver"]["sparkSubmit"]
        words = submit["entryPointArguments"]
        name, script = words[words.index("--application") + 1], submit["entryPoint"]
    return name, script.split("/")[-2]


def _has(given: Mapping[str, Any], words: set[str]) -> bool:
    text = json.dumps(given)
    return any(word in text for word in words)


def _fits(pattern: Any, event: Mapping[str, Any]) -> bool:
    if pattern is None:
        return False
    return (
        all(
            _fits(wanted, event[name]) if isinstance(wanted, dict) else event[name] in wanted
            for name, wanted in pattern.items()
            if name in event
        )
        and pattern.keys() <= event.keys()
    )
