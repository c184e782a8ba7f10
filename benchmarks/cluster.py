"""What a message costs the standard lane on a Spark cluster, beside one process.

CPU time is that of all JVMs, workers and children, the cluster's own master and workers too. One
process has two slots and its checkpoint on the disk; the cluster two executors with a slot each,
and its checkpoint in S3.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.kept_numbers import write_numbers
from benchmarks.running.application import environment, submitted_lanes
from benchmarks.running.arguments import arguments_of, emptied
from benchmarks.running.messages import deploy_parser, flow_of
from benchmarks.running.services import Services, services
from benchmarks.running.spark_cluster import SparkCluster
from benchmarks.running.telling import tell
from benchmarks.running.trials import JOBS, RAW, Side, one_process, trial
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic
from local.checkout import ROOT
from local.servers.processes import ServerProcess
from local.spark.jobs import spark_jars

EXECUTORS: Final = 2
PARTITIONS: Final = 4
STREAM: Final = "flow-0"
_CHECKPOINTS: Final = "checkpoints"


def main() -> None:
    arguments = _arguments()
    with emptied(arguments.folder) as folder, services(folder) as ready:
        topics = [RAW, "raw.slow", PARKED, FLEET_PARSED, canonical_topic(STREAM)]
        ready.create_topics(topics, partitions=PARTITIONS)
        ready.aws.ensure_bucket(_CHECKPOINTS)
        deploy_parser(ready)
        ready.publish([flow_of(STREAM)])
        costs_us: dict[str, list[float]] = {name: [] for name in SIDES}
        for _ in range(arguments.rounds):
            for name, side in SIDES.items():
                costs_us[name].append(trial(ready, arguments, [STREAM], side)[0])
                tell(f"{name}: {costs_us[name][-1]:.1f} us of CPU a message")
        medians = {f"{name}_cpu_us": round(median(took), 1) for name, took in costs_us.items()}
        ratio = round(median(costs_us["cluster"]) / median(costs_us["one_process"]), 2)
        numbers = {"cpu_to_one_process": ratio, **medians, "trials_us": costs_us}
    tell(write_numbers(arguments.output, numbers))


@contextmanager
def cluster(services: Services, folder: Path) -> Iterator[Sequence[ServerProcess]]:
    """A master, its workers, and a driver in client mode."""
    folder.mkdir()
    spark = SparkCluster(folder / "cluster", aws=services.aws, java_options=())
    nodes = list(spark.nodes)
    try:
        for node in nodes:
            node.start()
        driver = _driver(services, folder, spark)
        nodes.append(driver)
        driver.start()
        yield nodes
    finally:
        for node in reversed(nodes):
            node.kill()


SIDES: Final[dict[str, Side]] = {"one_process": one_process, "cluster": cluster}


def _driver(services: Services, folder: Path, spark: SparkCluster) -> ServerProcess:
    seen = dict(environment(services))
    configuration = {
        "spark.jars": ",".join(map(str, spark_jars())),
        "spark.executorEnv.PYTHONPATH": seen["PYTHONPATH"],
        "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
        "spark.executor.cores": "1",
        "spark.cores.max": str(EXECUTORS),
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.log.level": "WARN",
    }
    lanes = submitted_lanes(services, folder, JOBS)
    script = str(ROOT / "glue_jobs" / "host.py")
    argv = list(lanes[lanes.index(script) :])
    argv[argv.index("--checkpoint_folder") + 1] = f"s3://{_CHECKPOINTS}/{folder.name}"
    submit = [str(spark.home / "bin" / "spark-submit"), "--master", spark.url]
    settings = (f"--conf={name}={value}" for name, value in configuration.items())
    return ServerProcess(
        f"driver of {folder.name}",
        [*submit, "--driver-memory", "2g", *settings, *argv],
        log_path=folder / "driver.log",
        env={**seen, "SPARK_HOME": str(spark.home)},
        cwd=ROOT,
    )


def _arguments() -> argparse.Namespace:
    arguments = arguments_of("cluster", __doc__)
    arguments.add_argument("--messages", type=int, default=300_000, help="measured, a run")
    arguments.add_argument("--warm-up", type=int, default=200_000, help="before these")
    arguments.add_argument("--rounds", type=int, default=3, help="the median of so many counts")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
