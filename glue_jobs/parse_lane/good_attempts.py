"""Attempts that went as they should, by column: nothing but a row for the fleet comes of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleetlane.parsers.sandbox.attempts import NOTE_FIELDS
from fleetlane.parsers.sandbox.run_result import NotedAttempts
from fleetlane.parsers.sandbox.verdicts import Attempt, Verdict
from glue_jobs.parse_lane.plain_messages import Rows
from glue_jobs.parse_lane.waiting_messages import WaitingRun


class GoodAttempts(NamedTuple):
    """``places`` in the run; ``numbers`` are events, microseconds, first and last event time."""

    places: Rows
    numbers: Sequence[NDArray[np.int64]]


def good_and_others(
    attempts: NotedAttempts, run: WaitingRun
) -> tuple[GoodAttempts, list[tuple[int, Attempt]]]:
    """Tell attempts at plain messages that went well from all others."""
    notes = np.frombuffer(attempts.notes, np.int64).reshape(-1, NOTE_FIELDS)
    is_good = notes[:, 0] == Verdict.OK
    others = attempts.failed()
    if run.odd:
        rows = run.rows[attempts.first : attempts.first + len(notes)]
        is_odd = is_good & np.isin(rows, list(run.odd))
        odd_places = set((attempts.first + np.flatnonzero(is_odd)).tolist())
        others += [(place, attempt) for place, attempt in attempts if place in odd_places]
        is_good &= ~is_odd
    good = notes[is_good]
    numbers = [good[:, field] for field in range(1, NOTE_FIELDS)]
    return GoodAttempts(attempts.first + np.flatnonzero(is_good), numbers), others
