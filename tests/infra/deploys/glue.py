"""Glue's jobs and their runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.infra.deploys.engines import Engine, Run, checked, refusal

COUNTS_S: Final = 40


class EntityNotFoundException(Exception):  # noqa: N818 - Glue's name
    """Glue's client has it as one of its ``exceptions``."""


@dataclass
class Glue(Engine):
    """``counts_s`` is how long a run that ended counts as one that runs: on Glue for a while."""

    ALIVE = frozenset({"STARTING", "RUNNING", "STOPPING"})
    jobs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    counts_s: float = COUNTS_S
    exceptions = type("", (), {"EntityNotFoundException": EntityNotFoundException})

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """A call by Step Functions, whose names for parameters are the API's."""
        checked("glue", operation, parameters)
        assert operation == "StartJobRun"
        return self.start_job_run(**parameters)

    def start_job_run(self, *, JobName: str) -> dict[str, Any]:  # noqa: N803
        if JobName not in self.jobs:
            raise refusal("StartJobRun", "EntityNotFoundException")
        if self.alive(JobName) or self._counts(JobName):
            raise refusal("StartJobRun", "ConcurrentRunsExceededException")
        return {"JobRunId": self.begin(JobName, self.jobs[JobName]).id}

    def _counts(self, of: str) -> bool:
        """Whether one that has ended still counts as one that runs."""
        ended = [run.ended for run in self.runs if run.of == of and run.ended is not None]
        return any((self.clock.now - one).total_seconds() < self.counts_s for one in ended)

    def get_job_runs(self, **parameters: Any) -> dict[str, Any]:
        checked("glue", "GetJobRuns", parameters)
        name = parameters["JobName"]
        if name not in self.jobs:
            raise EntityNotFoundException
        return {"JobRuns": [_glue_run(run) for run in self.runs if run.of == name]}

    def batch_stop_job_run(self, **parameters: Any) -> dict[str, Any]:
        checked("glue", "BatchStopJobRun", parameters)
        for run in self.runs:
            if run.id in parameters["JobRunIds"] and run.state in self.ALIVE:
                if run.process is not None:
                    run.process.terminate()
                run.state = "STOPPED"
        return {}

    def event(self, run: Run) -> Mapping[str, Any]:
        return {
            "source": "aws.glue",
            "detail-type": "Glue Job State Change",
            "detail": {"jobName": run.of, "state": run.state},
        }

    def ended(self, run: Run, code: int) -> None:
        run.state = "FAILED" if code else "SUCCEEDED"


def _glue_run(run: Run) -> dict[str, Any]:
    problem = {"ErrorMessage": "ImportError: it is broken"} if run.state == "FAILED" else {}
    return {"Id": run.id, "JobRunState": run.state, "StartedOn": run.started, **problem}
