"""The memory of a platform's processes, by role; sampled in a thread.

A JVM fills its heap up to its limit before it collects all of it, so its role is three: what it
has outside the heap; what is left in the heap after each full collection; and what is left once
nothing is to be done.

The second is reported only. It includes what running batches hold, and broadcasts of ended ones:
Spark removes those after a collection, so the next one frees their memory.
"""

import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from local.platform import Platform
from local.spark.jobs import Application
from tests.soak.judgement import MemorySample
from tests.soak.jvm_counters import Heap
from tests.unit.parsers.sandbox.machine import descendants_of

_EVERY_S: Final = 5.0
_STARTED: Final = 19
"""The field of ``/proc/PID/stat`` behind the name that says when it started, in ticks."""
_JVM: Final = "java"
_DRIVER: Final = "host.py"
_BROKER: Final = "Kafka broker"
_SPARK: Final = "Spark JVM"
_JVMS: Final = (_BROKER, _SPARK)
LOCALSTACK: Final = "LocalStack"
"""It keeps in memory what S3 keeps on disks: every object of up to 512 KiB, for as long as it is
stored. So it grows with what is accepted, and is reported only."""

AFTER_FULL_COLLECTIONS: Final = "heap after full collections"
AT_REST: Final = "heap at rest"
_COLLECTIONS: Final = 18
_BETWEEN_COLLECTIONS_S: Final = 5.0
"""Spark's cleaner removes what a collection found unreachable; a last batch may run a minute."""


class MemorySampler:
    """Samples while it runs; ``by_role`` is what it found, in order."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.by_role: defaultdict[str, list[MemorySample]] = defaultdict(list)
        self._booted_s = _booted_s()
        self._full_collections: dict[int, int] = {}
        self._most_old_mib: defaultdict[int, float] = defaultdict(float)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample_on, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _sample_on(self) -> None:
        while not self._over.wait(_EVERY_S):
            for role, pids in self._roles():
                at_s = time.time()
                for pid in pids:
                    if role.startswith(_JVMS):
                        self._sample_jvm(role, pid, at_s)
                    else:
                        self._keep(role, pid, _mib(pid), at_s)

    def _roles(self) -> Iterator[tuple[str, set[int]]]:
        platform = self._platform
        parts = {_BROKER: platform.broker, LOCALSTACK: platform.aws, "gateway": platform.gateway}
        for role, part in parts.items():
            if part.is_alive() and part.pid is not None:
                yield role, {part.pid, *descendants_of(part.pid)}
        for application, jobs in platform.jobs.items():
            of = f" ({application})"
            if not jobs.is_alive() or jobs.pid is None:
                continue
            of_jobs = {jobs.pid, *descendants_of(jobs.pid)}
            jvms = {pid for pid in of_jobs if _command(pid).split("\0")[0].endswith(_JVM)}
            drivers = {pid for pid in of_jobs - jvms if _DRIVER in _command(pid)}
            yield f"{_SPARK}{of}", jvms
            yield f"Spark driver in Python{of}", drivers
            if application is Application.LANES:
                yield "Python workers", of_jobs - jvms - drivers

    def _sample_jvm(self, role: str, pid: int, at_s: float) -> None:
        heap = Heap.of(pid)
        if heap is None:
            return  # it begins, or ends
        # RAM that was touched once stays the heap's, also when it holds nothing any more.
        old_mib = self._most_old_mib[pid] = max(heap.old_mib, self._most_old_mib[pid])
        self._keep(f"{role}, outside its heap", pid, _mib(pid) - heap.young_mib - old_mib, at_s)
        known = self._full_collections.setdefault(pid, heap.full_collections)
        if heap.full_collections > known:
            self._full_collections[pid] = heap.full_collections
            self._keep(f"{role}, {AFTER_FULL_COLLECTIONS}", pid, heap.old_mib, at_s)

    def heaps_at_rest(self) -> list[tuple[str, MemorySample]]:
        """Collect the heaps some times over; of each the least that was left, by role.

        Call it where nothing is to be done. Needs a JDK's ``jcmd`` beside the JVM that runs.
        """
        found = []
        for role, pids in self._roles():
            for pid in pids if role.startswith(_JVMS) else ():
                mib = min(map(_collected_mib, [pid] * _COLLECTIONS))
                began_s = self._booted_s + (_started_s(pid) or 0.0)
                sample = MemorySample(at_s=time.time(), began_s=began_s, mib=mib)
                found.append((f"{role}, {AT_REST}", sample))
        return found

    def _keep(self, role: str, pid: int, mib: float, at_s: float) -> None:
        started_s = _started_s(pid)
        if started_s is not None:  # it has not ended
            sample = MemorySample(at_s=at_s, began_s=self._booted_s + started_s, mib=mib)
            self.by_role[role].append(sample)


def _collected_mib(pid: int) -> float:
    """What the heap's old part holds once all of the heap was collected."""
    jcmd = Path(f"/proc/{pid}/exe").resolve().with_name("jcmd")
    subprocess.run([jcmd, str(pid), "GC.run"], check=True, capture_output=True)
    time.sleep(_BETWEEN_COLLECTIONS_S)
    heap = Heap.of(pid)
    assert heap is not None, f"JVM {pid} keeps no counters"
    return heap.old_mib


def _mib(pid: int) -> float:
    """What it has in RAM; of what several share, its part."""
    for line in _text(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1_024
    return 0.0


def _started_s(pid: int) -> float | None:
    """When it started, in seconds after the machine did."""
    stat = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return int(stat[_STARTED]) / os.sysconf("SC_CLK_TCK") if stat else None


def _booted_s() -> float:
    lines = Path("/proc/stat").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("btime")))


def _command(pid: int) -> str:
    return _text(Path(f"/proc/{pid}/cmdline"))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
