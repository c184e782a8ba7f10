"""The job as it is shipped: lanes in an application of its own, by spark-submit."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.running.services import BUCKET, Services
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity
from local.checkout import ROOT
from local.servers.java import SparkJvm
from local.servers.processes import ServerProcess
from local.spark.home import spark_home
from local.spark.jobs import WORKER_DAEMON_OPTION, spark_submit
from local.spark.worker_daemon import WITHOUT_THREADS

TASK_SLOTS: Final = 2
_POLLING: Final = "--conf=spark.sql.streaming.pollingDelay=10ms"
"""Spark's own, as in AWS; a laptop asks less often."""


def environment(services: Services) -> Mapping[str, str]:
    """What every process sees; the peers' Python takes our packages from the checkout."""
    packages = [ROOT, ROOT / "events", ROOT / "parsers"]
    user = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}  # noqa: TID251 - passed on
    return {
        **user,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        **services.aws_variables,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What an application has; all of Java's compilers, if nothing else is said.

    ``is_laptop``: workers are forked with all that they import, as there are more slots than cores.
    """

    task_slots: int = TASK_SLOTS
    jvm: SparkJvm = field(default_factory=SparkJvm)
    is_laptop: bool = False


def submitted(folder: Path, machine: Machine = Machine()) -> list[str]:
    """The command up to the script."""
    slots, jvm = machine.task_slots, machine.jvm
    daemon = [WORKER_DAEMON_OPTION] if machine.is_laptop else []
    return [*spark_submit(folder, task_slots=slots, jvm=jvm), _POLLING, *daemon]


def submitted_lanes(
    services: Services, folder: Path, jobs: str, machine: Machine = Machine()
) -> Sequence[str]:
    """The command that runs ``jobs``, written as for ``glue_jobs/host.py``."""
    shared = {
        "kafka_bootstrap_servers": services.bootstrap_servers,
        "kafka_security": KafkaSecurity.PLAINTEXT,
        "checkpoint_folder": (folder / "checkpoints").as_uri(),
        "flows_bucket": BUCKET,
        "payload_bucket": BUCKET,
        "parked_bucket": BUCKET,
    }
    host = HostArguments(application="parse", jobs=jobs)
    pairs = (pair for name, value in shared.items() for pair in (f"--{name}", str(value)))
    return [
        *submitted(folder, machine),
        str(ROOT / "glue_jobs" / "host.py"),
        *host.to_argv(),
        *pairs,
    ]


@contextmanager
def running(
    services: Services, folder: Path, jobs: str, machine: Machine = Machine()
) -> Iterator[ServerProcess]:
    """Start an application in a folder of its own; returns at once, and kills it in the end."""
    folder.mkdir()
    process = ServerProcess(
        folder.name,
        list(submitted_lanes(services, folder, jobs, machine)),
        log_path=folder / "spark.log",
        env={**environment(services), **(WITHOUT_THREADS if machine.is_laptop else {})},
        cwd=ROOT,
    )
    process.start()
    try:
        yield process
    finally:
        process.kill()
