"""EMR Serverless: applications and their runs, which are repeated by themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.infra.deploys.engines import Engine, Run, checked, refusal

ATTEMPTS_MAX: Final = 10


@dataclass
class EmrApplication:
    id: str
    name: str
    settings: Mapping[str, Any]
    state: str = "CREATED"


@dataclass
class Emr(Engine):
    ALIVE = frozenset({"SUBMITTED", "STARTING", "RUNNING"})
    applications: dict[str, EmrApplication] = field(default_factory=dict)

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """A call by Step Functions, whose names begin with capitals, in answers too."""
        given = _lowered(parameters)
        checked("emr-serverless", operation, given)
        if operation == "ListJobRuns":
            runs = [_emr_run(run) for run in self._of(given["applicationId"])]
            return {"JobRuns": [run for run in runs if run["state"] in given["states"]]}
        assert operation == "StartJobRun"
        application = self.applications[given["applicationId"]]
        application.state = "STARTED"
        own = {**given, "settings": application.settings}
        return {"JobRunId": self.begin(application.id, own).id}

    def get_paginator(self, operation: str) -> "Pages":
        return Pages(self, operation)

    def cancel_job_run(self, **parameters: Any) -> None:
        checked("emr-serverless", "CancelJobRun", parameters)
        for run in self.runs:
            if run.id == parameters["jobRunId"] and run.state in self.ALIVE:
                if run.process is not None:
                    run.process.terminate()
                run.state = "CANCELLED"

    def stop_application(self, **parameters: Any) -> None:
        checked("emr-serverless", "StopApplication", parameters)
        application = self.applications[parameters["applicationId"]]
        if self.alive(application.id):
            raise refusal("StopApplication", "ValidationException", "it has runs")
        application.state = "STOPPED"

    def change(self, id_: str, settings: Mapping[str, Any]) -> None:
        """What CloudFormation asks for."""
        if self.applications[id_].state not in {"CREATED", "STOPPED"}:
            raise refusal("UpdateApplication", "ValidationException", "it is started")
        self.applications[id_].settings = settings

    def event(self, run: Run) -> Mapping[str, Any]:
        return {
            "source": "aws.emr-serverless",
            "detail-type": "EMR Serverless Job Run State Change",
            "detail": {"applicationId": run.of, "state": run.state},
        }

    def ended(self, run: Run, code: int) -> None:
        """EMR tries a streaming run again by itself."""
        if code == 0:
            run.state = "SUCCESS"
        elif run.attempt == ATTEMPTS_MAX:
            run.state = "FAILED"
        else:
            run.attempt, run.process = run.attempt + 1, self.start(run.given)

    def _of(self, application: str) -> list[Run]:
        return [run for run in self.runs if run.of == application]


@dataclass
class Pages:
    emr: Emr
    operation: str

    def paginate(self, **parameters: Any) -> Iterator[dict[str, Any]]:
        if self.operation == "list_applications":
            checked("emr-serverless", "ListApplications", parameters)
            found = self.emr.applications.values()
            yield {"applications": [{"id": x.id, "name": x.name, "state": x.state} for x in found]}
        else:
            checked("emr-serverless", "ListJobRuns", parameters)
            runs = [run for run in self.emr.runs if run.of == parameters["applicationId"]]
            yield {"jobRuns": [_emr_run(run) for run in runs]}


def _emr_run(run: Run) -> dict[str, Any]:
    state = "SCHEDULED" if run.state == "STARTING" else run.state
    problem = "ImportError: it is broken" if run.attempt > 1 or state == "FAILED" else ""
    return {
        "id": run.id,
        "state": state,
        "createdAt": run.started,
        "attempt": run.attempt,
        "stateDetails": problem,
    }


def _lowered(value: Any) -> Any:
    match value:
        case dict():
            return {name[0].lower() + name[1:]: _lowered(one) for name, one in value.items()}
        case list():
            return [_lowered(one) for one in value]
        case _:
            return value
