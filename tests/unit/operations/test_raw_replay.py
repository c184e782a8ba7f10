"""What of the raw topics lands again, and in which revision."""

from collections.abc import Callable, Iterator

import pytest

from fleetlane.events.times import DAY_MS
from operations.messages.stores import StoredPayloads
from operations.replay.landing import ReplayPlan, TooManyMessagesError
from operations.replay.plans import ArrivalRange, raw_plan
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    by_reference,
    message_of,
    payloads,
)

type Plan = Callable[..., ReplayPlan]

RANGE = ArrivalRange(stream="tank", from_ms=ARRIVAL_MS, to_ms=ARRIVAL_MS + 100)


@pytest.fixture(scope="module")
def kept() -> Iterator[StoredPayloads]:
    with payloads(landed=["payloads/there"]) as kept:
        yield kept


@pytest.fixture
def planned(kept: StoredPayloads) -> Plan:
    def plan(store: FakeStore, *, messages_max: int = 10) -> ReplayPlan:
        return raw_plan(store, kept, RANGE, messages_max=messages_max)

    return plan


def numbers(plan: ReplayPlan) -> list[tuple[int, int]]:
    return [(one.attempt, one.revision) for one in plan.attempts.values()]


@pytest.mark.parametrize(
    ("arrival_ms", "is_taken"),
    [
        (ARRIVAL_MS - 1, False),
        (ARRIVAL_MS, True),
        (ARRIVAL_MS + 99, True),
        (ARRIVAL_MS + 100, False),
    ],
)
def test_arrival_counts_and_the_end_is_no_part_of_it(
    planned: Plan, arrival_ms: int, *, is_taken: bool
) -> None:
    store = FakeStore()
    store.land(message_of(arrival_millis=arrival_ms), at_ms=arrival_ms)

    plan = planned(store)

    assert bool(plan.attempts) is is_taken


def test_a_message_that_was_written_days_after_it_arrived_is_taken(planned: Plan) -> None:
    store = FakeStore()
    store.land(message_of(), at_ms=ARRIVAL_MS + 2 * DAY_MS)

    plan = planned(store)

    assert numbers(plan) == [(2, 1)]


@pytest.mark.parametrize(
    ("topic", "is_taken"),
    [
        ("raw.fast", True),
        ("raw.slow", True),
        ("raw.standard.stream.tank", True),
        ("raw.standard.stream.other", False),
        ("raw.fast.block.tank", True),
        ("raw.standard.type.valve", True),
        ("parked", False),
    ],
)
def test_every_topic_that_the_stream_may_be_in_is_read(
    planned: Plan, topic: str, *, is_taken: bool
) -> None:
    store = FakeStore()
    store.land(message_of(), topic)

    plan = planned(store)

    assert bool(plan.attempts) is is_taken


def test_messages_of_other_streams_are_left_alone(planned: Plan) -> None:
    store = FakeStore()
    store.land(message_of(stream="other"))

    plan = planned(store)

    assert plan.attempts == {}


def test_a_message_lands_once_however_many_copies_there_are(planned: Plan) -> None:
    store = FakeStore()
    first = store.land(message_of())
    store.land(message_of())
    store.land(message_of(attempt=2), "raw.slow")

    plan = planned(store)

    assert [(one.topic, one.offset) for one in plan.attempts] == [(first.topic, first.offset)]
    assert numbers(plan) == [(3, 1)]


def test_all_get_the_revision_after_the_highest(planned: Plan) -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(attempt=2, revision=1), "raw.slow")
    store.land(message_of(OTHER_ID))

    plan = planned(store)

    assert numbers(plan) == [(3, 2), (2, 2)]


def test_a_payload_that_has_expired_is_reported(planned: Plan) -> None:
    store = FakeStore()
    store.land(by_reference(RAW_ID, key="payloads/gone"))
    store.land(by_reference(OTHER_ID, key="payloads/there"))

    plan = planned(store)

    assert (plan.expired, len(plan.attempts)) == ((RAW_ID,), 1)


def test_a_record_that_is_no_message_is_passed_over(planned: Plan) -> None:
    store = FakeStore()
    store.write("raw.standard", value=b"?", headers=[("ce_type", b"tank")])

    plan = planned(store)

    assert plan.attempts == {}


def test_more_messages_than_allowed_are_refused(planned: Plan) -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(OTHER_ID))

    with pytest.raises(TooManyMessagesError, match="limit is 1"):
        planned(store, messages_max=1)
