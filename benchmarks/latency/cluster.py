"""The fast lane in an application of its own, and on which cores all of it runs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from benchmarks.running.application import Machine, running
from benchmarks.running.process_tree import pin_tree
from benchmarks.running.services import Services
from fleetlane.events.lanes import Lane
from local.servers.java import SHORT_LIVED, SparkJvm
from local.servers.processes import ServerProcess
from local.spark.jobs import TASK_SLOTS

MACHINE: Final = Machine(
    task_slots=TASK_SLOTS, jvm=SparkJvm(java_options=SHORT_LIVED), is_laptop=True
)
"""With all of Java's compilers the first minutes would measure the compilation, and with workers
that import for themselves the first half minute of a flood would measure twenty imports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Those of the fast lane's application, of the other lanes', and of broker and sender."""

    fast: frozenset[int]
    others: frozenset[int]
    broker: frozenset[int]

    @classmethod
    def halves(cls, *, broker: str) -> Self:
        """Two halves of what this process may use: one for the fast lane, one for the others.

        Broker and sender have the ``fast`` half, the ``others``', or ``all``. Nothing is kept apart
        where there is one core alone.
        """
        cores = sorted(os.sched_getaffinity(0))
        half = max(1, len(cores) // 2)
        fast, others = frozenset(cores[:half]), frozenset(cores[half:] or cores)
        of_broker = {"fast": fast, "others": others, "all": frozenset(cores)}
        return cls(fast=fast, others=others, broker=of_broker[broker])

    def __str__(self) -> str:
        named = (("fast", self.fast), ("other lanes", self.others), ("broker, sender", self.broker))
        return "; ".join(f"{name}: {', '.join(map(str, sorted(of)))}" for name, of in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What the two applications run, as ``glue_jobs/host.py`` takes it."""

    fast: str
    others: str


@contextmanager
def lanes_running(
    services: Services, folder: Path, jobs: Jobs, cores: Cores
) -> Iterator[Mapping[Lane, ServerProcess]]:
    """Start the applications, each on its cores, and put broker, S3 and ourselves on theirs.

    Gives each lane's application.
    """
    for pid in (os.getpid(), *services.pids):
        pin_tree(pid, set(cores.broker))
    folder.mkdir()
    with running(services, folder / "fast", jobs.fast, MACHINE) as fast:
        pin_tree(fast.pid or 0, set(cores.fast))
        with running(services, folder / "others", jobs.others, MACHINE) as others:
            pin_tree(others.pid or 0, set(cores.others))
            yield {Lane.FAST: fast, Lane.STANDARD: others, Lane.SLOW: others}
