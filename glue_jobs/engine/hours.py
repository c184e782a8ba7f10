"""Hours of times, as rows and conditions have them."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from fleetlane.events.times import HOUR_MS

_SPANS_MAX: Final = 24
"""Spark recurses into a condition: one of thousands of parts overflows its stack."""


def hour_of(name: str) -> Column:
    """When the hour of a time began, as ``hour_ms``; null where 64 bits do not hold it."""
    return F.try_subtract(F.col(name), F.expr(f"pmod({name}, {HOUR_MS})")).alias("hour_ms")


def spans_of(hours_ms: Iterable[int]) -> list[tuple[int, int]]:
    """Where hours that follow each other begin and end; of too many such spans one."""
    runs = groupby(enumerate(sorted(hours_ms)), lambda nth: nth[1] - nth[0] * HOUR_MS)
    spans = [(run[0][1], run[-1][1] + HOUR_MS) for run in (list(run) for _, run in runs)]
    return spans if len(spans) <= _SPANS_MAX else [(spans[0][0], spans[-1][1])]
