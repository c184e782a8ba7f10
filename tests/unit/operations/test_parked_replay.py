"""What of the parked messages lands again, as which attempt, and in which revision."""

from collections.abc import Callable, Iterator

import pytest

from fleetlane.events.metadata import Outcome
from operations.messages.parked import ParkedFilter
from operations.messages.stores import StoredPayloads
from operations.replay.landing import ReplayPlan, TooManyMessagesError
from operations.replay.plans import parked_plan
from tests.unit.operations.stored_messages import (
    OTHER_ID,
    RAW_ID,
    FakeStore,
    by_reference,
    message_of,
    payloads,
)

type Plan = Callable[..., ReplayPlan]


@pytest.fixture(scope="module")
def kept() -> Iterator[StoredPayloads]:
    with payloads(parked=["parked/payloads/1"]) as kept:
        yield kept


@pytest.fixture
def planned(kept: StoredPayloads) -> Plan:
    def plan(
        store: FakeStore, *, includes_parsed: bool = False, messages_max: int = 10
    ) -> ReplayPlan:
        return parked_plan(
            store, kept, ParkedFilter(), includes_parsed=includes_parsed, messages_max=messages_max
        )

    return plan


def numbers(plan: ReplayPlan) -> list[tuple[int, int]]:
    return [(one.attempt, one.revision) for one in plan.attempts.values()]


def test_a_parked_message_lands_as_the_attempt_after_all_there_were(planned: Plan) -> None:
    store = FakeStore()
    store.tell(message_of(attempt=5), Outcome.DIVERTED)
    store.park(message_of(attempt=2))

    plan = planned(store)

    assert numbers(plan) == [(6, 0)]


def test_only_the_newest_record_of_a_message_lands(planned: Plan) -> None:
    store = FakeStore()
    store.park(message_of())
    newest = store.park(message_of(attempt=4))

    plan = planned(store)

    assert [position.offset for position in plan.attempts] == [newest.offset]
    assert numbers(plan) == [(5, 0)]


@pytest.mark.parametrize("outcome", [Outcome.PARSED, Outcome.EMPTY])
def test_what_was_parsed_since_is_left_out(planned: Plan, outcome: Outcome) -> None:
    store = FakeStore()
    store.park(message_of())
    store.park(message_of(OTHER_ID))
    store.tell(message_of(attempt=2), outcome)

    plan = planned(store)

    assert (len(plan.attempts), plan.parsed) == (1, (RAW_ID,))


def test_what_was_parsed_since_lands_again_in_the_next_revision(planned: Plan) -> None:
    store = FakeStore()
    store.park(message_of())
    store.tell(message_of(attempt=2), Outcome.PARSED)

    plan = planned(store, includes_parsed=True)

    assert (numbers(plan), plan.parsed) == ([(3, 1)], ())


def test_a_revision_that_was_parked_lands_again_though_an_earlier_one_was_parsed(
    planned: Plan,
) -> None:
    store = FakeStore()
    store.tell(message_of(), Outcome.PARSED)
    store.park(message_of(attempt=2, revision=1))
    store.tell(message_of(attempt=2, revision=1), Outcome.PARKED)

    plan = planned(store)

    assert (numbers(plan), plan.parsed) == ([(3, 1)], ())


def test_what_another_message_went_through_does_not_count(planned: Plan) -> None:
    store = FakeStore()
    store.park(message_of())
    store.tell(message_of(OTHER_ID, attempt=9), Outcome.PARSED)

    plan = planned(store)

    assert numbers(plan) == [(2, 0)]


def test_a_row_of_fleet_parsed_that_is_none_is_passed_over(planned: Plan) -> None:
    store = FakeStore()
    store.park(message_of())
    store.write("fleet.parsed", value=b"{")

    plan = planned(store)

    assert numbers(plan) == [(2, 0)]


def test_a_record_that_is_no_message_is_counted(planned: Plan) -> None:
    store = FakeStore()
    store.write("parked", value=b"?", headers=[("ce_parkedreason", b"bad_envelope")])

    plan = planned(store)

    assert (plan.attempts, plan.unreadable) == ({}, 1)


def test_a_payload_is_followed_to_where_parking_has_kept_it(planned: Plan) -> None:
    store = FakeStore()
    store.park(by_reference(key="payloads/1"))

    plan = planned(store)

    references = [one.reference for one in plan.attempts.values()]
    assert [one and one.key for one in references] == ["parked/payloads/1"]


def test_a_message_whose_payload_is_gone_is_reported(planned: Plan) -> None:
    store = FakeStore()
    store.park(by_reference(key="payloads/gone"))
    store.park(message_of(OTHER_ID))

    plan = planned(store)

    assert (plan.expired, len(plan.attempts)) == ((RAW_ID,), 1)


def test_more_messages_than_allowed_are_refused(planned: Plan) -> None:
    store = FakeStore()
    store.park(message_of())
    store.park(message_of(OTHER_ID))

    with pytest.raises(TooManyMessagesError, match="2 messages or more match; the limit is 1"):
        planned(store, messages_max=1)


def test_an_id_that_is_not_parked_is_named(kept: StoredPayloads) -> None:
    store, wanted = FakeStore(), ParkedFilter(ids=frozenset({RAW_ID, OTHER_ID}))
    store.park(message_of())

    plan = parked_plan(store, kept, wanted, includes_parsed=False, messages_max=10)

    assert (len(plan.attempts), plan.unknown) == (1, (OTHER_ID,))
