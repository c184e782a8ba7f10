"""What waits in which lane, by raw records and outcomes in any order."""

from dataclasses import replace
from itertools import permutations

import pytest

from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome
from tests.soak.backlog import Outcomes
from tests.unit.operations.kafka_records import ARRIVAL_MILLIS, OTHER_ID, landed, tried

SECOND_ATTEMPT = replace(landed(attempt=2, lane=Lane.SLOW), topic="raw.slow")


def outcomes_of(*records: Record) -> Outcomes:
    outcomes = Outcomes()
    for record in records:
        outcomes.fold([record])
    return outcomes


def test_what_landed_waits_in_its_lane_until_it_has_an_outcome() -> None:
    outcomes = outcomes_of(landed(), landed(OTHER_ID), tried(Outcome.PARSED))

    assert outcomes.waiting() == {"standard": 1}
    assert (outcomes.landed, outcomes.ended) == (2, 1)


def test_what_is_diverted_waits_in_the_slow_lane() -> None:
    outcomes = outcomes_of(landed(), tried(Outcome.DIVERTED), SECOND_ATTEMPT)

    assert outcomes.waiting() == {"slow": 1}


@pytest.mark.parametrize(
    "records",
    list(permutations((landed(), tried(Outcome.DIVERTED), SECOND_ATTEMPT, tried(Outcome.PARKED)))),
)
def test_nothing_waits_once_all_have_an_outcome_in_whatever_order_records_are_read(
    records: tuple[Record, ...],
) -> None:
    assert outcomes_of(*records).waiting() == {}


def test_the_first_outcome_since_a_time_is_found() -> None:
    rows = [replace(tried(Outcome.EMPTY), timestamp_ms=ARRIVAL_MILLIS + ms) for ms in (9, 0, 5)]
    began_s = ARRIVAL_MILLIS / 1_000

    outcomes = outcomes_of(*rows)

    assert outcomes.first_row_s(began_s + 0.001) == began_s + 0.005
    assert outcomes.first_row_s(began_s + 1) is None
