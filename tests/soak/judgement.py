"""Whether a run is sound, by numbers alone: is memory flat, and does a backlog go away."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import Final

from tests.soak.backlog import Waiting

WARM_UP_S: Final = 300.0
"""A process that has just begun may grow for so long: the gateway keeps an authorizer's answer five
minutes; Spark's Kafka consumers fill a buffer for each partition of each query, and its threads
keep ended tasks' sorters until their thread-local tables are swept."""

GROWTH_SHARE_MAX: Final = 0.10
GROWTH_MIB_MAX: Final = 24.0
"""Whichever is more, for the second half of a run."""

BACK_S_MAX: Final = 180.0
"""From a fault's end to the first batch: what a JVM and Spark take to start on a busy machine."""

_POINTS_MIN: Final = 10
_NORMAL_FACTOR: Final = 1.5
_NORMAL_MORE: Final = 20
"""Above the most that waited in quiet times: batches are as large as they happen to be."""
_SAMPLES_TO_BE_SURE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySample:
    """What one of a role's processes took when all were looked at. ``began_s`` is when it began."""

    at_s: float
    began_s: float
    mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerdict:
    """How a role's memory went in the second half of a run, restarts apart.

    ``growth_mib`` is the slope within the processes' lives, times their number and that half's
    length; ``None`` where none lived for long enough to judge. So one more process is no growth;
    ``processes`` is the most that ran at once.
    """

    role: str
    starts: int
    oldest_s: float
    median_mib: float
    most_mib: float
    processes: int
    growth_mib: float | None
    growth_mib_max: float

    @property
    def is_flat(self) -> bool:
        return self.growth_mib is None or self.growth_mib <= self.growth_mib_max


def memory_verdict(
    role: str, samples: Sequence[MemorySample], *, began_s: float, ended_s: float
) -> MemoryVerdict:
    """Judge a role by its samples in order; there is at least one."""
    half_s = (ended_s - began_s) / 2
    later = [one for one in samples if one.at_s >= began_s + half_s]
    totals_mib, processes = defaultdict[float, float](float), Counter(one.at_s for one in samples)
    for one in samples:
        totals_mib[one.at_s] += one.mib
    typical = median(totals_mib.values())
    slope = slope_in(later)
    usual = median(processes[one.at_s] for one in later or samples)
    return MemoryVerdict(
        role=role,
        starts=len({one.began_s for one in samples}),
        oldest_s=max(one.at_s - one.began_s for one in samples),
        median_mib=typical,
        most_mib=max(totals_mib.values()),
        processes=max(processes.values()),
        growth_mib=None if slope is None else slope * half_s * usual,
        growth_mib_max=max(GROWTH_MIB_MAX, GROWTH_SHARE_MAX * typical),
    )


def verdict_at_rest(role: str, before: MemorySample, after: MemorySample) -> MemoryVerdict:
    """Judge what a role held before the run and after it, whether or not it was restarted."""
    return MemoryVerdict(
        role=role,
        starts=len({before.began_s, after.began_s}),
        oldest_s=after.at_s - after.began_s,
        median_mib=before.mib,
        most_mib=max(before.mib, after.mib),
        processes=1,
        growth_mib=after.mib - before.mib,
        growth_mib_max=max(GROWTH_MIB_MAX, GROWTH_SHARE_MAX * before.mib),
    )


def slope_in(samples: Iterable[MemorySample]) -> float | None:
    """MiB a second, by least squares within each process's life; what it warms up by is left out.

    ``None`` where fewer than ten samples are left.
    """
    points, above, below = 0, 0.0, 0.0
    grown = (one for one in samples if one.at_s - one.began_s > WARM_UP_S)
    began_s = attrgetter("began_s")
    for _, life in groupby(sorted(grown, key=began_s), key=began_s):
        lived = list(life)
        mean_s = sum(one.at_s for one in lived) / len(lived)
        mean_mib = sum(one.mib for one in lived) / len(lived)
        points += len(lived)
        above += sum((one.at_s - mean_s) * (one.mib - mean_mib) for one in lived)
        below += sum((one.at_s - mean_s) ** 2 for one in lived)
    return above / below if points >= _POINTS_MIN and below else None


def normal_in(quiet: Iterable[Waiting]) -> dict[str, int]:
    """How much may wait in each place in normal times, by what waited in quiet ones."""
    most: dict[str, int] = {}
    for sample in quiet:
        for place, count in sample.by_place.items():
            most[place] = max(count, most.get(place, 0))
    return {place: round(count * _NORMAL_FACTOR) + _NORMAL_MORE for place, count in most.items()}


def is_normal(waiting: Waiting, normal: Mapping[str, int]) -> bool:
    return all(
        count <= normal.get(place, _NORMAL_MORE) for place, count in waiting.by_place.items()
    )


def normal_again_s(
    history: Sequence[Waiting], normal: Mapping[str, int], *, since_s: float
) -> float | None:
    """When the backlog was normal for three samples in a row, since then; the first of them."""
    row: list[Waiting] = []
    for sample in history:
        if sample.at_s >= since_s:
            row = [*row, sample] if is_normal(sample, normal) else []
            if len(row) == _SAMPLES_TO_BE_SURE:
                return row[0].at_s
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """A fault, the outage that it made and how the backlog went away.

    The outage lasts from ``began_s`` to the first batch after it was over, ``outage_s``;
    ``recovery_s`` counts from there. ``None`` is never.
    """

    kind: str
    began_s: float
    ended_s: float
    outage_s: float | None
    recovery_s: float | None
    restarts: tuple[str, ...] = ()

    @property
    def recovery_s_max(self) -> float:
        return recovery_s_max(self.outage_s or 0.0)

    @property
    def is_ok(self) -> bool:
        if self.outage_s is None or self.recovery_s is None:
            return False
        is_back = self.outage_s - (self.ended_s - self.began_s) <= BACK_S_MAX
        return is_back and self.recovery_s <= self.recovery_s_max


def recovery_s_max(outage_s: float) -> float:
    return 2 * outage_s + 60


def fault_record(
    kind: str,
    span: tuple[float, float],
    history: Sequence[Waiting],
    normal: Mapping[str, int],
    first_row_s: Callable[[float], float | None],
) -> FaultRecord:
    """Judge a fault from when it began to when it was over, by what was read since."""
    began_s, ended_s = span
    first_s = first_row_s(ended_s)
    again_s = None if first_s is None else normal_again_s(history, normal, since_s=first_s)
    return FaultRecord(
        kind=kind,
        began_s=began_s,
        ended_s=ended_s,
        outage_s=None if first_s is None else first_s - began_s,
        recovery_s=None if first_s is None or again_s is None else again_s - first_s,
    )
