"""Which attempt of a message counts."""

from itertools import permutations

import pytest

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, counts_more


def attempt(outcome: Outcome, *, number: int = 1, revision: int = 0) -> Parsed:
    return Parsed(
        id="1" + "ab" * 16,
        attempt=number,
        device_id="d-17",
        stream="tank",
        lane=Lane.SLOW,
        source_topic="raw.slow",
        source_partition=0,
        source_offset=0,
        outcome=outcome,
        parsed_ms=1,
        revision=revision,
    )


def folded(attempts: tuple[Parsed, ...]) -> Parsed | None:
    best: Parsed | None = None
    for one in attempts:
        best = one if counts_more(one, best) else best
    return best


@pytest.mark.parametrize(
    "from_best",
    [
        [
            attempt(Outcome.PARSED),
            attempt(Outcome.EMPTY, number=2),
            attempt(Outcome.PARKED, number=3),
            attempt(Outcome.DIVERTED, number=4),
        ],
        [
            attempt(Outcome.PARSED, revision=2),
            attempt(Outcome.PARSED, number=9, revision=1),
            attempt(Outcome.PARSED, number=8, revision=1),
            attempt(Outcome.PARKED, number=10, revision=3),
        ],
    ],
    ids=["outcomes", "revisions"],
)
def test_the_best_counts_in_whatever_order_they_come(from_best: list[Parsed]) -> None:
    bests = [folded(order) for order in permutations(from_best)]

    assert bests == [from_best[0]] * len(bests)
