"""Histograms: how many messages lie in each bin between given bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from operations.fleet.answers import Bin
from operations.fleet.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Messages by the bound that their bin ends with. What is over all has a key of its own."""

    counts: Mapping[int, int] | None


def binned(fleet: Fleet, sql: str, bounds: tuple[int, ...], *, days: int) -> tuple[Bin, ...]:
    """Ask for a ``histogram`` named ``counts``, and name its bins, those without messages too."""
    window = fleet.last(days)
    answer = fleet.rows(_Counts, sql, bounds=list(bounds), **window.parameters)[0]
    counts = answer.counts or {}
    ends = (None, *bounds, None)
    over_all = sum(messages for bound, messages in counts.items() if bound not in bounds)
    return tuple(
        Bin(low=low, high=high, messages=over_all if high is None else counts.get(high, 0))
        for low, high in pairwise(ends)
    )
