"""How a job's file is run by spark-submit, Glue and EMR alike."""

import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import JobArguments
from glue_jobs.engine.periodic_tasks import Ends
from glue_jobs.engine.session import spark_session


def run[A: JobArguments](
    application: str, start: Callable[[SparkSession, A], Ends], arguments_type: type[A]
) -> None:
    """Read the arguments, start the job and stay until its query fails."""
    arguments = arguments_type.from_argv(sys.argv[1:])
    start(spark_session(application), arguments).awaitTermination()
