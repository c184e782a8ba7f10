"""The contenders: how each is started, and how many messages it is measured over."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.peers.environments import python_of
from benchmarks.parse.spark_arguments import SparkArguments
from benchmarks.parse.workload import EVENTS, PARTITIONS, STREAM
from benchmarks.running.application import TASK_SLOTS, submitted, submitted_lanes
from benchmarks.running.services import Services
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.topics import canonical_topic
from local.checkout import ROOT
from local.servers.ports import free_port

PROCESSES: Final = TASK_SLOTS
"""Each contender has this many processes, or Spark task slots."""

WARM_UPS_MAX: Final = 3

type Commands = Callable[[Services, Path, int], Sequence[Sequence[str]]]
"""From the services, a folder of the contender's own, and its loops, to the processes to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """``share`` is the part of the messages that it is measured over: the slow have fewer.

    ``warm_ups``: how many times the warm-up comes before. A JVM compiles for a minute, with a fifth
    of what it takes altogether, and a job runs for weeks.
    """

    name: str
    commands: Commands
    loops: int = 0
    sleep_ms: int = 0
    share: float = 1.0
    warm_ups: int = 1
    output_topic: str = canonical_topic(STREAM)
    records_a_message: int = EVENTS


def contenders(loops_40us: int) -> tuple[Contender, ...]:
    return (
        Contender(name="job", commands=_job, warm_ups=WARM_UPS_MAX),
        Contender(name="bare", commands=_bare),
        Contender(
            name="job_40us", commands=_job, loops=loops_40us, share=0.6, warm_ups=WARM_UPS_MAX
        ),
        Contender(name="bare_40us", commands=_bare, loops=loops_40us, share=0.6),
        Contender(
            name="copy",
            commands=_copy,
            output_topic=COPIES_TOPIC,
            records_a_message=1,
            warm_ups=WARM_UPS_MAX,
        ),
        Contender(name="row_udf", commands=_row_udf, share=0.5, warm_ups=WARM_UPS_MAX),
        Contender(name="bytewax", commands=_bytewax, share=0.5),
        Contender(name="quix", commands=_quix, share=0.3),
    )


def slow_contenders() -> tuple[Contender, ...]:
    """The job in one partition with a parser that sleeps 5 ms: in one child, and in four."""
    return tuple(
        Contender(name=f"slow_{children}", commands=partial(_slow_job, children), sleep_ms=5)
        for children in (1, 4)
    )


def _slow_job(
    children: int, services: Services, folder: Path, _loops: int
) -> Sequence[Sequence[str]]:
    job = f"parse_lane --lane standard --children_max {children}"
    return [submitted_lanes(services, folder, job)]


def _job(services: Services, folder: Path, _loops: int) -> Sequence[Sequence[str]]:
    """The job as it is shipped, in the standard lane; its parser's loops are in the flow."""
    return [submitted_lanes(services, folder, "parse_lane --lane standard")]


def _bare(services: Services, _folder: Path, loops: int) -> Sequence[Sequence[str]]:
    shares = [range(process, PARTITIONS, PROCESSES) for process in range(PROCESSES)]
    module = [sys.executable, "-m", "benchmarks.parse.bare_loop"]
    return [[*module, services.bootstrap_servers, str(loops), *map(str, share)] for share in shares]


def _quix(services: Services, folder: Path, loops: int) -> Sequence[Sequence[str]]:
    module = [str(python_of("quixstreams")), "-m", "benchmarks.parse.peers.quix_streams"]
    return [[*module, services.bootstrap_servers, str(loops), folder.name]] * PROCESSES


def _bytewax(services: Services, _folder: Path, loops: int) -> Sequence[Sequence[str]]:
    flow = f"benchmarks.parse.peers.bytewax_flow:dataflow('{services.bootstrap_servers}', {loops})"
    addresses = ";".join(f"127.0.0.1:{free_port()}" for _ in range(PROCESSES))
    module = [str(python_of("bytewax")), "-m", "bytewax.run", flow, "-a", addresses]
    return [[*module, "-i", str(process)] for process in range(PROCESSES)]


def _row_udf(services: Services, folder: Path, loops: int) -> Sequence[Sequence[str]]:
    return [_spark_program("row_udf", services, folder, loops)]


def _copy(services: Services, folder: Path, loops: int) -> Sequence[Sequence[str]]:
    return [_spark_program("jvm_copy", services, folder, loops)]


def _spark_program(name: str, services: Services, folder: Path, loops: int) -> Sequence[str]:
    arguments = SparkArguments(
        kafka_bootstrap_servers=services.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(folder / "checkpoints").as_uri(),
        loops=loops,
    )
    script = str(ROOT / "benchmarks" / "parse" / f"{name}.py")
    return [*submitted(folder), script, *arguments.to_argv()]
