"""Several jobs in one Spark application: all of them on a laptop, three applications in AWS.

``--jobs "parse_lane --lane fast; fleet_metadata"`` names the jobs, each with arguments of its own;
the other arguments go to every job.
"""

import shlex
import sys
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import (
    BadArgumentsError,
    FleetMetadataArguments,
    HostArguments,
    LakeArguments,
    ParseLaneArguments,
)
from glue_jobs.fleet_metadata import main as fleet_metadata
from glue_jobs.kept_query import Ends
from glue_jobs.lake import main as lake
from glue_jobs.parse_lane import main as parse_lane
from glue_jobs.session import spark_session

LOOK_AGAIN_S: Final = 1


def start(session: SparkSession, jobs: str, shared: Sequence[str]) -> list[Ends]:
    """Start every job that ``jobs`` names; returns at once.

    Raises:
        BadArgumentsError: A job is not known, or an argument of it is missing or not allowed.
    """
    return [_started(session, shlex.split(job), shared) for job in jobs.split(";") if job.strip()]


def _started(session: SparkSession, job: Sequence[str], shared: Sequence[str]) -> Ends:
    name, argv = job[0], [*shared, *job[1:]]
    match name:
        case "parse_lane":
            return parse_lane.start(session, ParseLaneArguments.from_argv(argv))
        case "fleet_metadata":
            return fleet_metadata.start(session, FleetMetadataArguments.from_argv(argv))
        case "lake":
            return lake.start(session, LakeArguments.from_argv(argv))
        case _:
            known = "parse_lane, fleet_metadata or lake"
            raise BadArgumentsError("host", f"job {name!r} is not {known}")


def main(argv: Sequence[str]) -> None:
    """Start the jobs and stay until one of their queries fails; the others end with it."""
    arguments = HostArguments.from_argv(argv)
    session = spark_session(arguments.application)
    await_first(start(session, arguments.jobs, argv))


def await_first(queries: Sequence[Ends]) -> None:
    """Wait until one of the queries ends; others of the session may come and go.

    Raises:
        StreamingQueryException: It failed.
    """
    while not any(query.awaitTermination(LOOK_AGAIN_S) for query in queries):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
