"""What a deploy calls by CDK's provider framework: once to ask, then until it is done.

``Custom::RestartedJob`` stands behind a job: it is restarted when it changed, and ended before it
is deleted. ``Custom::RestedApplication`` stands before one of EMR: only a stopped one can change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import AwsSettings, aws_client, s3_client
from clients.bucket_objects import BucketObjects
from clients.environment import read_settings
from clients.job_runs import EmrRuns, GlueRuns, JobRunsUnavailableError, start_by
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import Engine
from fleetlane.events.times import now_ms
from lambdas.job_restarts.service import START_LIMIT_MS, Job, JobDidNotStartError

logger = Logger(service="job_restarts")

RESTED: Final = "Custom::RestedApplication"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The bucket of the checkpoints, and whose jobs these are."""

    checkpoints_bucket: str
    engine: Engine


class CheckpointsUnavailableError(FleetlaneError):
    """S3 does not answer as it should. Trying again may succeed."""

    key: str
    problem: str
    sentence = "{key} beside the checkpoints cannot be read or written: {problem}"


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Note when the deploy asked; from then on do the next step, and say whether it was the last.

    Raises ``JobDidNotStartError``, unless this is the way back already.
    """
    return answer(event, job=_job, now_ms=now_ms(), is_going_back=_is_going_back)


def answer(
    event: Mapping[str, Any],
    *,
    job: Callable[[Mapping[str, str]], Job],
    now_ms: int,
    is_going_back: Callable[[str], bool],
) -> dict[str, Any]:
    """``is_going_back`` says of a stack whether CloudFormation is rolling it back.

    Failing then would leave the stack half way; the rules that keep the job running try on.
    """
    properties = event["ResourceProperties"]
    if "AskedMs" not in event:
        return {"PhysicalResourceId": properties["job"], "AskedMs": now_ms}
    try:
        return {"IsComplete": _step(event, job(properties), now_ms=now_ms)}
    except JobDidNotStartError as problem:
        try:
            is_back = is_going_back(event["StackId"])
        except (BotoCoreError, ClientError) as unknown:  # the provider's own limit ends it
            logger.warning("asked again soon", extra={"problem": str(unknown)})
            return {"IsComplete": False}
        if not is_back:
            raise
        logger.error("does not run on the way back either", extra={"problem": str(problem)})
        return {"IsComplete": True}
    except (CheckpointsUnavailableError, JobRunsUnavailableError) as problem:
        if now_ms - event["AskedMs"] > START_LIMIT_MS:
            raise
        logger.warning("asked again soon", extra={"problem": str(problem)})
        return {"IsComplete": False}


def _step(event: Mapping[str, Any], job: Job, *, now_ms: int) -> bool:
    asked_ms, request = int(event["AskedMs"]), event["RequestType"]
    if event["ResourceType"] == RESTED:
        if request != "Update":
            return True
        job.hold(now_ms=now_ms)
    elif request != "Delete":
        job.release()
        return job.restart(asked_ms=asked_ms, now_ms=now_ms)
    return job.rest(asked_ms=asked_ms, now_ms=now_ms)


def _job(properties: Mapping[str, str]) -> Job:
    ours = read_settings(Settings)
    name = properties["job"]
    return Job(
        name=properties["application"],
        runs=GlueRuns(_client("glue"), name)
        if ours.engine is Engine.GLUE
        else EmrRuns(_client("emr-serverless"), name),
        files=BucketObjects(
            s3_client(AwsSettings()), ours.checkpoints_bucket, CheckpointsUnavailableError
        ),
        start=partial(start_by, _client("stepfunctions"), properties.get("machine", "")),
    )


def _is_going_back(stack: str) -> bool:
    [found] = _client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in found["StackStatus"]


@cache
def _client(service: str) -> Any:
    return aws_client(service)
