"""The processes of a platform that a test may kill."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from local.platform import Platform
from local.servers.processes import ServerProcess
from local.spark.jobs import WORKER_DAEMON, Application
from tests.unit.parsers.sandbox.conftest import children_of
from tests.unit.parsers.sandbox.machine import descendants_of

PARTS: Final[Mapping[str, Callable[[Platform], ServerProcess]]] = {
    "driver": lambda platform: platform.jobs[Application.LANES],
    "lake's driver": lambda platform: platform.jobs[Application.LAKE],
    "broker": lambda platform: platform.broker,
    "gateway": lambda platform: platform.gateway,
    "local aws": lambda platform: platform.aws,
}
_DAEMON: Final = f"\0-m\0{WORKER_DAEMON}\0"
_THERE_WITHIN_S_MAX: Final = 120.0


def kill(platform: Platform, victim: str) -> None:
    """Kill -9, of a part as a whole, or of one of Spark's workers or of their parsers' children."""
    if victim in PARTS:
        PARTS[victim](platform).kill()
    else:
        _kill_one(platform, victim)


def _kill_one(platform: Platform, victim: str) -> None:
    give_up_s = time.monotonic() + _THERE_WITHIN_S_MAX
    while not (pids := workers(platform) if victim == "worker" else _parser_children(platform)):
        assert time.monotonic() < give_up_s, f"there is no {victim}"
        time.sleep(0.05)
    os.kill(pids[0], signal.SIGKILL)


def workers(platform: Platform) -> list[int]:
    """Those that have a zygote, which is to say that they have parsed."""
    driver = platform.jobs[Application.LANES].pid
    processes = () if driver is None else descendants_of(driver)
    daemons = [pid for pid in processes if _is_daemon(pid)]
    workers = [worker for daemon in daemons for worker in children_of(daemon)]
    return [worker for worker in workers if children_of(worker)]


def _parser_children(platform: Platform) -> list[int]:
    zygotes = [zygote for worker in workers(platform) for zygote in children_of(worker)]
    return [child for zygote in zygotes for child in children_of(zygote)]


def _is_daemon(pid: int) -> bool:
    """Whether it is the one that forks workers, and no fork of it, which looks alike."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        return _DAEMON in command and _DAEMON not in Path(f"/proc/{parent}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
