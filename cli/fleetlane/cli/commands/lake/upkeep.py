"""``fleetlane lake``: a stream's view; upkeep of the tables, by the job that writes them."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.commands.lake import view as lake_view
from fleetlane.cli.options.data import DataOption, running_endpoints
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

    from clients.s3.upkeep_requests import Upkeep, UpkeepRequests

_LOOK_AGAIN_S = 0.5

app = typer.Typer(
    help="Shows a stream's events; keeps the lake's tables quick to read.", no_args_is_help=True
)
app.command("view")(lake_view.view)

LakeBucketOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A stage's lake bucket, by your AWS credentials."),
]
PatienceOption = Annotated[
    int, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the answer.")
]


class NoAnswerError(FleetlaneError):
    """The job that writes the tables does not answer: it does not run, or is at something long."""

    reason = "no_answer"
    tables: str
    waited_s: int

    def __str__(self) -> str:
        later = "it does what was asked when it can"
        return f"the lake job's {self.tables} gave no answer in {self.waited_s} s; {later}"


class UpkeepFailedError(FleetlaneError):
    """The job tried, and could not. The tables are as they were."""

    reason = "upkeep_failed"
    tables: str
    problem: str
    sentence = "the lake job's {tables}: {problem}"


@app.command("compact")
def compact(
    *, bucket: LakeBucketOption = None, wait: PatienceOption = 600, data: DataOption = None
) -> None:
    """Join small files, and drop what stands twice."""
    ask_lake("compact", bucket, data, wait_s=wait)


@app.command("expire")
def expire(
    *, bucket: LakeBucketOption = None, wait: PatienceOption = 600, data: DataOption = None
) -> None:
    """Let go of what tables were before, five days ago or more."""
    ask_lake("expire", bucket, data, wait_s=wait)


def ask_lake(
    upkeep: str,
    bucket: str | None,
    data: "Path | None",
    *,
    wait_s: int,
    device_id: str | None = None,
) -> None:
    """Ask the job's writers for upkeep, wait for their answers, and print what they did.

    Raises:
        NoAnswerError: None came in time.
        UpkeepFailedError: One of them could not.
    """
    s3, bucket = _place(bucket, data)
    from clients.s3.upkeep_requests import Upkeep, UpkeepRequests
    from fleetlane.events.job_arguments import LakeTables

    writers = {tables: UpkeepRequests(s3, bucket, tables) for tables in LakeTables}
    asked = {
        tables: _asked(writer, Upkeep(upkeep), device_id) for tables, writer in writers.items()
    }
    until_s = time.monotonic() + wait_s
    for tables, request_id in asked.items():
        while (answer := writers[tables].answer_to(request_id)) is None:
            if time.monotonic() >= until_s:
                raise NoAnswerError(tables, wait_s)
            time.sleep(_LOOK_AGAIN_S)
        if answer.problem is not None:
            raise UpkeepFailedError(tables, answer.problem)
        for table, done in answer.done.items():
            typer.echo(f"{table}: {done}")


def _asked(writer: "UpkeepRequests", upkeep: "Upkeep", device_id: str | None) -> str:
    from uuid import uuid4

    from clients.s3.upkeep_requests import UpkeepRequest

    request = UpkeepRequest(request_id=str(uuid4()), upkeep=upkeep, device_id=device_id)
    writer.ask(request)
    return request.request_id


def _place(bucket: str | None, data: "Path | None") -> "tuple[S3Client, str]":
    if bucket is not None:
        from fleetlane.cli.options.checkout import use_checkout

        use_checkout()
        from clients.aws import AwsSettings, s3_client

        return s3_client(AwsSettings()), bucket
    endpoints = running_endpoints(data)
    from local.spark.lake import lake_store_of

    return lake_store_of(endpoints)
