"""Glue's and EMR Serverless's job API: start, stop and state of runs, as their models describe it.

What a run *is* comes from ``start``, which is called with all that it is started with and gives a
process: one for which a test decides, or that of a real ``spark-submit``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final, Protocol

from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import validate_parameters

from tests.infra.deploys.clock_and_bucket import Time

PROVISION_S: Final = 20


class Process(Protocol):
    """``Popen`` is one. ``poll`` gives 0 for a run that ended well, and ``None`` while it runs."""

    def poll(self) -> int | None: ...
    def terminate(self) -> None: ...


type Start = Callable[[Mapping[str, Any]], Process]
type Heard = Callable[[Mapping[str, Any]], None]


@cache
def _model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


def checked(service: str, operation: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a call that AWS's own model of the service does not allow."""
    shape = _model(service).operation_model(operation).input_shape
    assert shape is not None, "it takes parameters"
    validate_parameters(parameters, shape)


def refusal(operation: str, code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


@dataclass
class Run:
    id: str
    of: str
    started: datetime
    given: Mapping[str, Any]
    process: Process | None = None
    state: str = "STARTING"
    attempt: int = 1
    ended: datetime | None = None


@dataclass
class Engine:
    """What both have in common. ``heard`` gets EventBridge's events.

    A run's process is there ``provision_s`` after the run was asked for.
    """

    clock: Time
    start: Start
    heard: Heard = lambda _: None
    runs: list[Run] = field(default_factory=list)
    most_at_once: dict[str, int] = field(default_factory=dict)
    provision_s: float = PROVISION_S

    def alive(self, of: str) -> list[Run]:
        return [run for run in self.runs if run.of == of and run.state in self.ALIVE]

    def tick(self) -> None:
        """See what became of the processes, and tell of the ends."""
        for run in tuple(self.runs):
            if run.state in self.ALIVE:
                self._look(run)
            if run.state not in self.ALIVE and run.ended is None:
                run.ended = self.clock.now
                self.heard(self.event(run))

    def begin(self, of: str, given: Mapping[str, Any]) -> Run:
        run = Run(id=f"r{len(self.runs)}", of=of, started=self.clock.now, given=given)
        self.runs.insert(0, run)
        self.most_at_once[of] = max(self.most_at_once.get(of, 0), len(self.alive(of)))
        return run

    def _look(self, run: Run) -> None:
        if run.process is None:
            if (self.clock.now - run.started).total_seconds() >= self.provision_s:
                run.process, run.state = self.start(run.given), "RUNNING"
            return
        code = run.process.poll()
        if code is not None:
            self.ended(run, code)

    ALIVE: ClassVar[frozenset[str]] = frozenset()

    def event(self, run: Run) -> Mapping[str, Any]:
        raise NotImplementedError

    def ended(self, run: Run, code: int) -> None:
        raise NotImplementedError
