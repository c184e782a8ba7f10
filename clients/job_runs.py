"""The runs of one Spark job, as Glue or EMR Serverless tells of them; how they start and end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clients.aws import asking
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import millis_of

_RUNS_MAX: Final = 50
_GLUE_ALIVE: Final = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})
_GLUE_ENDED_WELL: Final = frozenset({"EXPIRED", "STOPPED", "SUCCEEDED"})
EMR_ALIVE: Final = frozenset(
    {"SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED", "CANCELLING"}
)
_EMR_ENDED_WELL: Final = frozenset({"CANCELLED", "SUCCESS"})


class JobRunsUnavailableError(FleetlaneError):
    """AWS does not answer as it should about a job. Trying again may succeed."""

    job: str
    problem: str
    sentence = "the runs of job {job} cannot be seen or changed: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """``failures`` counts the tries of this run that failed: EMR repeats a streaming run itself."""

    id: str
    started_ms: int
    is_alive: bool
    failures: int
    problem: str


class GlueRuns:
    """The runs of a Glue job, which may be missing; ``glue`` is boto3's client.

    Every method here and below may raise ``JobRunsUnavailableError``.
    """

    def __init__(self, glue: Any, job: str) -> None:
        self._glue, self._job = glue, job

    def runs(self) -> list[JobRun]:
        """Those of late, the latest first."""
        with asking(JobRunsUnavailableError, self._job):
            try:
                answer = self._glue.get_job_runs(JobName=self._job, MaxResults=_RUNS_MAX)
            except self._glue.exceptions.EntityNotFoundException:
                return []
        return [_glue_run(run) for run in answer["JobRuns"]]

    def cancel(self, run: JobRun) -> None:
        with asking(JobRunsUnavailableError, self._job):
            self._glue.batch_stop_job_run(JobName=self._job, JobRunIds=[run.id])

    def has_rested(self) -> bool:
        """A job without a run can be changed and deleted."""
        return True


class EmrRuns:
    """The runs of the EMR application of this name, which may be missing; likewise."""

    def __init__(self, emr: Any, application: str) -> None:
        self._emr, self._name = emr, application

    def runs(self) -> list[JobRun]:
        with asking(JobRunsUnavailableError, self._name):
            found = self._application()
            if found is None:
                return []
            pages = self._emr.get_paginator("list_job_runs").paginate(applicationId=found["id"])
            return [_emr_run(run) for page in pages for run in page["jobRuns"]]

    def cancel(self, run: JobRun) -> None:
        with asking(JobRunsUnavailableError, self._name):
            if (found := self._application()) is not None:
                self._emr.cancel_job_run(applicationId=found["id"], jobRunId=run.id)

    def has_rested(self) -> bool:
        """Whether it has stopped, as it must to be changed or deleted; if not, it is asked to.

        No run of it may be alive.
        """
        with asking(JobRunsUnavailableError, self._name):
            found = self._application()
            if found is not None and found["state"] == "STARTED":
                self._emr.stop_application(applicationId=found["id"])
        return found is None or found["state"] in {"CREATED", "STOPPED"}

    def _application(self) -> Mapping[str, Any] | None:
        pages = self._emr.get_paginator("list_applications").paginate()
        found = (one for page in pages for one in page["applications"])
        ours = (one for one in found if one.get("name") == self._name)
        return next((one for one in ours if one["state"] != "TERMINATED"), None)


def start_by(states: Any, machine: str) -> None:
    """Have the state machine look whether its job runs, and start it if not; returns at once."""
    with asking(JobRunsUnavailableError, machine):
        states.start_execution(stateMachineArn=machine, input="{}")


def _glue_run(run: Mapping[str, Any]) -> JobRun:
    state = run["JobRunState"]
    return JobRun(
        id=run["Id"],
        started_ms=millis_of(run["StartedOn"]),
        is_alive=state in _GLUE_ALIVE,
        failures=int(state not in _GLUE_ALIVE | _GLUE_ENDED_WELL),
        problem=run.get("ErrorMessage") or f"its run {run['Id']} is {state}",
    )


def _emr_run(run: Mapping[str, Any]) -> JobRun:
    state = run["state"]
    before = run.get("attempt", 1) - 1
    return JobRun(
        id=run["id"],
        started_ms=millis_of(run["createdAt"]),
        is_alive=state in EMR_ALIVE,
        failures=before + int(state not in EMR_ALIVE | _EMR_ENDED_WELL),
        problem=run.get("stateDetails") or f"its run {run['id']} is {state}",
    )
