"""The faults of a soak, and the order in which a seed deals them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from local.platform import Platform
from local.servers.processes import ServerProcess
from tests.e2e.conftest import RunningPlatform
from tests.e2e.faults import frozen
from tests.e2e.outages import OUTAGES
from tests.e2e.victims import PARTS, kill
from tests.soak.small_disk import SmallDisk

LENGTH_S_MAX: Final = 60
_LENGTH_S_MIN: Final = 5
_CLOCK_STEP_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What befalls the platform, and for how long."""

    kind: str
    length_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """All that faults need: the platform, ingest's clock, and the jobs' disk, if it is small."""

    running: RunningPlatform
    clock_file: Path
    jobs_disk: SmallDisk | None


type Befall = Callable[[Reach], AbstractContextManager[object]]


@contextmanager
def _killed(part: ServerProcess) -> Iterator[None]:
    part.kill()
    try:
        yield
    finally:
        part.start()


@contextmanager
def _killed_one(platform: Platform, victim: str) -> Iterator[None]:
    kill(platform, victim)
    yield


@contextmanager
def _stepped(clock_file: Path, ahead_ms: int) -> Iterator[None]:
    clock_file.write_text(str(ahead_ms))
    try:
        yield
    finally:
        clock_file.unlink()


@contextmanager
def _jobs_disk_full(reach: Reach) -> Iterator[None]:
    assert reach.jobs_disk is not None, "not dealt without it"
    with reach.jobs_disk.full():
        yield


def _part(reach: Reach, name: str) -> ServerProcess:
    return PARTS[name](reach.running.platform)


def _kills(name: str) -> Befall:
    return lambda reach: _killed(_part(reach, name))


def _freezes(name: str) -> Befall:
    return lambda reach: frozen(_part(reach, name))


def _kills_one(victim: str) -> Befall:
    return lambda reach: _killed_one(reach.running.platform, victim)


def _as_in_outages(name: str) -> Befall:
    return lambda reach: OUTAGES[name](reach.running)


JOBS_DISK_FULL: Final = "the jobs' disk is full"
AT_ONCE: Final[Mapping[str, Befall]] = {
    "a Python worker is killed": _kills_one("worker"),
    "a parser's process is killed": _kills_one("child"),
}
"""They are over at once."""
LASTING: Final[Mapping[str, Befall]] = {
    "the Spark jobs are killed": _kills("driver"),
    "the Spark jobs are frozen": _freezes("driver"),
    "the lake's jobs are killed": _kills("lake's driver"),
    "the lake's jobs are frozen": _freezes("lake's driver"),
    "the functions are killed": _kills("gateway"),
    "the functions are frozen": _freezes("gateway"),
    "Kafka is killed": _kills("broker"),
    "S3 and the registry are killed": _kills("local aws"),
    **{name: _as_in_outages(name) for name in OUTAGES if name != "the functions are killed"},
    JOBS_DISK_FULL: _jobs_disk_full,
    "ingest's clock is an hour ahead": lambda reach: _stepped(reach.clock_file, _CLOCK_STEP_MS),
    "ingest's clock is an hour behind": lambda reach: _stepped(reach.clock_file, -_CLOCK_STEP_MS),
}
FAULTS: Final[Mapping[str, Befall]] = {**AT_ONCE, **LASTING}


def dealt(seed: int, *, without: frozenset[str] = frozenset()) -> Iterator[Fault]:
    """Faults for ever, the same for the same seed; each kind once before any comes again."""
    random = Random(seed)  # noqa: S311 - to be repeated
    while True:
        for kind in random.sample(sorted(FAULTS), k=len(FAULTS)):
            length_s = 0 if kind in AT_ONCE else random.randint(_LENGTH_S_MIN, LENGTH_S_MAX)
            if kind not in without:
                yield Fault(kind=kind, length_s=length_s)
