"""The one outcome of a message, folded over all attempts at it: parsed > empty > parked."""

from typing import Final

from fleetlane.events.metadata import Outcome, Parsed

_RANK: Final = {Outcome.PARSED: 3, Outcome.EMPTY: 2, Outcome.PARKED: 1, Outcome.DIVERTED: 0}

IS_THROUGH: Final = frozenset({Outcome.PARSED, Outcome.EMPTY})
"""Outcomes after which nothing of a message is missing downstream."""


def counts_more(parsed: Parsed, known: Parsed | None) -> bool:
    """Whether an attempt counts more than the best so far.

    Among equal outcomes the higher revision counts, then the later attempt. A revision that is
    parked takes nothing away from what was parsed before.
    """
    return known is None or _weight(parsed) > _weight(known)


def _weight(parsed: Parsed) -> tuple[int, int, int]:
    return _RANK[parsed.outcome], parsed.revision, parsed.attempt
