"""``fleetlane lake``: a stream's view; upkeep of the tables, by the job that writes them."""

import time
from typing import Annotated
from uuid import uuid4

import typer

from clients.s3.upkeep_requests import Upkeep, UpkeepRequest, UpkeepRequests
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.errors import FleetlaneError
from operations.platform import Platform

_POLL_INTERVAL_S = 0.5

PatienceOption = Annotated[
    int,
    typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for the job's answer."),
]


class NoAnswerError(FleetlaneError):
    """The job that writes the tables does not answer: it does not run, or is busy."""

    reason = "no_answer"
    tables: str
    waited_s: int
    sentence = "the lake job's {tables} gave no answer in {waited_s} s; the request stays queued"


class UpkeepFailedError(FleetlaneError):
    """The job tried, and could not. The tables are as they were."""

    reason = "upkeep_failed"
    tables: str
    problem: str
    sentence = "the lake job's {tables}: {problem}"


def compact(*, wait: PatienceOption = 600, where: PlatformOptions) -> None:
    """Join small files, and remove duplicates."""
    ask_lake(where.platform(), Upkeep.COMPACT, wait_s=wait)


def expire(*, wait: PatienceOption = 600, where: PlatformOptions) -> None:
    """Delete table snapshots that are five days old or older."""
    ask_lake(where.platform(), Upkeep.EXPIRE, wait_s=wait)


def ask_lake(
    platform: Platform, upkeep: Upkeep, *, wait_s: int, device_id: str | None = None
) -> None:
    """Ask the job's writers for upkeep, wait for their answers, and print what they did.

    Raises:
        NoAnswerError: None came in time.
        UpkeepFailedError: One of them could not.
    """
    writers = {tables: platform.upkeep_requests(tables) for tables in platform.lake_tables}
    asked = {tables: _asked(writer, upkeep, device_id) for tables, writer in writers.items()}
    until_s = time.monotonic() + wait_s
    for tables, request_id in asked.items():
        while (answer := writers[tables].answer_to(request_id)) is None:
            if time.monotonic() >= until_s:
                raise NoAnswerError(tables, wait_s)
            time.sleep(_POLL_INTERVAL_S)
        if answer.problem is not None:
            raise UpkeepFailedError(tables, answer.problem)
        for table, done in answer.done.items():
            typer.echo(f"{table}: {done}")


def _asked(writer: UpkeepRequests, upkeep: Upkeep, device_id: str | None) -> str:
    request = UpkeepRequest(request_id=str(uuid4()), upkeep=upkeep, device_id=device_id)
    writer.ask(request)
    return request.request_id
