"""Attempts that went as they should, by column: nothing but a row for the fleet comes of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleetlane.parsers.sandbox.results import NotedAttempts
from fleetlane.parsers.sandbox.verdicts import Attempt, Verdict
from glue_jobs.parse_lane.reading.fast_path import Rows
from glue_jobs.parse_lane.reading.runs import WaitingRun


class GoodAttempts(NamedTuple):
    """``places`` in the run; ``numbers`` are events, microseconds, first and last event time."""

    places: Rows
    numbers: Sequence[NDArray[np.int64]]


def good_and_others(
    attempts: NotedAttempts, run: WaitingRun
) -> tuple[GoodAttempts, list[tuple[int, Attempt]]]:
    """Tell attempts at plain messages that went well from all others."""
    notes = attempts.notes
    is_good = np.frombuffer(notes.verdicts, np.uint8) == Verdict.OK
    others = attempts.failed()
    if run.odd:
        rows = run.rows[attempts.first : attempts.first + len(is_good)]
        is_odd = is_good & np.isin(rows, list(run.odd))
        odd_places = set((attempts.first + np.flatnonzero(is_odd)).tolist())
        others += [(place, attempt) for place, attempt in attempts if place in odd_places]
        is_good &= ~is_odd
    columns = (notes.events, notes.parse_us, notes.first_event_ms, notes.last_event_ms)
    numbers = [np.asarray(column)[is_good].astype(np.int64) for column in columns]
    return GoodAttempts(attempts.first + np.flatnonzero(is_good), numbers), others
