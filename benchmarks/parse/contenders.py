"""The contenders: how each is started, and how many messages it is measured over."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.peers.environments import python_of
from benchmarks.parse.spark_arguments import SparkArguments
from benchmarks.parse.stage import FLOWS_BUCKET, Stage
from benchmarks.parse.workload import EVENTS, PARTITIONS, STREAM
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity, ParseLaneArguments
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import canonical_topic
from local.checkout import ROOT
from local.jobs import spark_home, spark_submit
from local.ports import free_port

PROCESSES: Final = 2
"""So many each has: processes, or task slots of Spark."""

type Commands = Callable[[Stage, Path, int], Sequence[Sequence[str]]]
"""From the stage, a folder of the contender's own, and its turns, to the processes to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """``share`` is the part of the messages that it is measured over: the slow have fewer."""

    name: str
    commands: Commands
    turns: int = 0
    share: float = 1.0
    output_topic: str = canonical_topic(STREAM)
    records_a_message: int = EVENTS


def contenders(turns_40us: int) -> tuple[Contender, ...]:
    return (
        Contender(name="job", commands=_job),
        Contender(name="bare", commands=_bare),
        Contender(name="job_40us", commands=_job, turns=turns_40us, share=0.6),
        Contender(name="bare_40us", commands=_bare, turns=turns_40us, share=0.6),
        Contender(name="copy", commands=_copy, output_topic=COPIES_TOPIC, records_a_message=1),
        Contender(name="row_udf", commands=_row_udf, share=0.5),
        Contender(name="bytewax", commands=_bytewax, share=0.5),
        Contender(name="quix", commands=_quix, share=0.3),
    )


def environment(stage: Stage) -> Mapping[str, str]:
    """What every process sees; the peers' Python takes our packages from the checkout."""
    packages = [ROOT, ROOT / "events", ROOT / "parsers"]
    user = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}  # noqa: TID251 - passed on
    return {
        **user,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        **stage.aws_variables,
    }


def _job(stage: Stage, folder: Path, _turns: int) -> Sequence[Sequence[str]]:
    """The job as it is shipped, in the standard lane; its parser's turns are in the flow."""
    arguments = ParseLaneArguments(
        kafka_bootstrap_servers=stage.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(folder / "checkpoints").as_uri(),
        lane=Lane.STANDARD,
        flows_bucket=FLOWS_BUCKET,
        payload_bucket=FLOWS_BUCKET,
        parked_bucket=FLOWS_BUCKET,
    )
    host = HostArguments(application="parse", jobs="parse_lane")
    script = str(ROOT / "glue_jobs" / "host.py")
    return [[*_spark_submit(folder), script, *host.to_argv(), *arguments.to_argv()]]


def _bare(stage: Stage, _folder: Path, turns: int) -> Sequence[Sequence[str]]:
    shares = [range(process, PARTITIONS, PROCESSES) for process in range(PROCESSES)]
    module = [sys.executable, "-m", "benchmarks.parse.bare_loop"]
    return [[*module, stage.bootstrap_servers, str(turns), *map(str, share)] for share in shares]


def _quix(stage: Stage, folder: Path, turns: int) -> Sequence[Sequence[str]]:
    module = [str(python_of("quixstreams")), "-m", "benchmarks.parse.peers.quix_streams"]
    return [[*module, stage.bootstrap_servers, str(turns), folder.name]] * PROCESSES


def _bytewax(stage: Stage, _folder: Path, turns: int) -> Sequence[Sequence[str]]:
    flow = f"benchmarks.parse.peers.bytewax_flow:dataflow('{stage.bootstrap_servers}', {turns})"
    addresses = ";".join(f"127.0.0.1:{free_port()}" for _ in range(PROCESSES))
    module = [str(python_of("bytewax")), "-m", "bytewax.run", flow, "-a", addresses]
    return [[*module, "-i", str(process)] for process in range(PROCESSES)]


def _row_udf(stage: Stage, folder: Path, turns: int) -> Sequence[Sequence[str]]:
    return [_spark_program("row_udf", stage, folder, turns)]


def _copy(stage: Stage, folder: Path, turns: int) -> Sequence[Sequence[str]]:
    return [_spark_program("jvm_copy", stage, folder, turns)]


def _spark_program(name: str, stage: Stage, folder: Path, turns: int) -> Sequence[str]:
    arguments = SparkArguments(
        kafka_bootstrap_servers=stage.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(folder / "checkpoints").as_uri(),
        turns=turns,
    )
    script = str(ROOT / "benchmarks" / "parse" / f"{name}.py")
    return [*_spark_submit(folder), script, *arguments.to_argv()]


def _spark_submit(folder: Path) -> list[str]:
    return spark_submit(folder, task_slots=PROCESSES, java_options=())
