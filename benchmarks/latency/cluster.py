"""Each lane in an application of its own, as in AWS, and on which cores all of it runs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.running.application import running
from benchmarks.running.process_tree import pin_tree
from benchmarks.running.services import Services
from fleetlane.events.lanes import Lane
from local.processes import ServerProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Those of the fast lane's application, of the other lanes', and of broker and sender."""

    fast: frozenset[int]
    others: frozenset[int]
    broker: frozenset[int]

    @classmethod
    def halves(cls, *, is_broker_beside_fast: bool) -> Self:
        """Two halves of what this process may use: one for the fast lane, one for the others.

        Nothing is kept apart where there is one core alone.
        """
        cores = sorted(os.sched_getaffinity(0))
        half = max(1, len(cores) // 2)
        fast, others = frozenset(cores[:half]), frozenset(cores[half:] or cores)
        return cls(fast=fast, others=others, broker=fast if is_broker_beside_fast else others)

    def __str__(self) -> str:
        named = (("fast", self.fast), ("other lanes", self.others), ("broker, sender", self.broker))
        return "; ".join(f"{name}: {', '.join(map(str, sorted(of)))}" for name, of in named)


@contextmanager
def lanes_running(
    services: Services, folder: Path, jobs: Mapping[Lane, str], cores: Cores
) -> Iterator[Mapping[Lane, ServerProcess]]:
    """Start the applications, each on its cores, and put broker, S3 and ourselves on theirs."""
    for pid in (os.getpid(), *services.pids):
        pin_tree(pid, set(cores.broker))
    folder.mkdir()
    with ExitStack() as stack:
        processes = {}
        for lane, job in jobs.items():
            process = stack.enter_context(running(services, folder / lane, job))
            pin_tree(process.pid or 0, set(cores.fast if lane is Lane.FAST else cores.others))
            processes[lane] = process
        yield processes
