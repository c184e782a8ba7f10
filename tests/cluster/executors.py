"""The processes of executors, below the workers that started them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from local.servers.processes import ServerProcess
from tests.cluster.platform import ClusterPlatform
from tests.unit.parsers.sandbox.machine import descendants_of

_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"


def executors(cluster: ClusterPlatform) -> list[int]:
    """The processes of all executors, those of the first worker first."""
    return [pid for node in cluster.spark.workers for pid in executors_of(node)]


def executors_of(worker: ServerProcess) -> list[int]:
    return [pid for pid in sorted(descendants_of(worker.pid or 0)) if _is_executor(pid)]


def has_executors(cluster: ClusterPlatform, count: int) -> Callable[[], bool]:
    """Whether there are so many, to be waited for."""
    return lambda: len(executors(cluster)) == count


def _is_executor(pid: int) -> bool:
    try:
        return _EXECUTOR in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
