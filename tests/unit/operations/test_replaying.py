"""How what is planned lands again."""

from collections.abc import Sequence
from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from fleetlane.events.envelope import REVISION_MAX, KafkaPosition, Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import BulkCause, Lane
from operations.replay.landing import NextAttempt, ReplayPlan, replay, replayed_record
from tests.unit.events.messages import messages
from tests.unit.operations.stored_messages import OTHER_ID, RAW_ID, FakeStore, message_of

NO_ANSWER = NotDurableError("raw.bulk.replayed", 1.0, "no answer")
ONCE_MORE = NextAttempt(attempt=4, revision=1, reference=None)


class FakeKafka:
    """Confirms all records but those of ``RAW_ID``; these after so many tries."""

    def __init__(self, problem: NotDurableError | None = None, *, tries: int = 0) -> None:
        self.landed: list[ProducerRecord] = []
        self._problem, self._tries_left = problem, tries

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> Sequence[KafkaPosition | NotDurableError]:
        self.landed.extend(records)
        self._tries_left -= 1
        position = KafkaPosition(topic="raw.bulk.replayed", partition=0, offset=0)
        if self._problem is None or self._tries_left < 0:
            return [position] * len(records)
        is_bad = [("ce_id", RAW_ID.encode()) in one.headers for one in records]
        return [self._problem if bad else position for bad in is_bad]


def raw_ids(number: int) -> list[str]:
    return [f"1{place:032x}" for place in range(number)]


def plan_of(store: FakeStore, again: NextAttempt = ONCE_MORE) -> ReplayPlan:
    positions = {record.position: again for record in store.records}
    return ReplayPlan(pattern="parked", since_ms=None, attempts=positions)


@given(messages(), st.integers(2, 99), st.integers(0, REVISION_MAX))
def test_only_attempt_tries_revision_and_lane_change(
    message: Message, attempt: int, revision: int
) -> None:
    again = NextAttempt(attempt=attempt, revision=revision, reference=message.reference)

    record = replayed_record(message, again)

    assert message_from(record.headers, record.value) == replace(
        message,
        attempt=attempt,
        slow_tries=0,
        revision=revision,
        lane=Lane.SLOW if message.lane is Lane.SLOW else Lane.BULK,
        bulk_cause=BulkCause.REPLAYED,
    )


def test_all_lands_in_the_bulk_lane_without_what_parking_added() -> None:
    store, kafka = FakeStore(), FakeKafka()
    store.park(message_of(slow_tries=3))

    landed = replay(plan_of(store), store, kafka)

    (record,) = kafka.landed
    assert (landed, record.topic, record.value) == (1, "raw.bulk.replayed", b"\x01\x02")
    assert not any(name.startswith("ce_parked") for name, _ in record.headers)
    assert message_from(record.headers, record.value) == message_of(
        attempt=4, revision=1, lane=Lane.BULK, bulk_cause=BulkCause.REPLAYED
    )


def test_what_is_not_planned_stays_where_it_is() -> None:
    store, kafka = FakeStore(), FakeKafka()
    store.park(message_of())
    plan = plan_of(store)
    store.park(message_of(attempt=2))

    landed = replay(plan, store, kafka)

    assert (landed, len(kafka.landed)) == (1, 1)


def test_progress_is_reported_and_what_has_expired_meanwhile_is_missing_in_the_count() -> None:
    store, kafka, told = FakeStore(), FakeKafka(), list[int]()
    for raw_id in raw_ids(50):
        store.park(message_of(raw_id))
    plan = plan_of(store)
    del store.records[:5]

    landed = replay(plan, store, kafka, on_landed=told.append)

    assert (landed, told) == (45, [20, 40, 45])


def test_it_reads_no_further_than_what_is_planned() -> None:
    store, read = FakeStore(), list[int]()
    store.on_read = lambda record: read.append(record.offset)
    for raw_id in raw_ids(3):
        store.park(message_of(raw_id))
    plan = ReplayPlan(
        pattern="parked", since_ms=None, attempts={store.records[1].position: ONCE_MORE}
    )

    landed = replay(plan, store, FakeKafka())

    assert (landed, read) == (1, [0, 1])


def test_without_a_plan_nothing_is_read() -> None:
    landed = replay(
        ReplayPlan(pattern="parked", since_ms=None, attempts={}), FakeStore(), FakeKafka()
    )

    assert landed == 0


def test_what_kafka_does_not_confirm_lands_once_more_and_nothing_else() -> None:
    store, kafka = FakeStore(), FakeKafka(NO_ANSWER, tries=2)
    store.park(message_of())
    store.park(message_of(OTHER_ID))

    landed = replay(plan_of(store), store, kafka)

    assert (landed, len(kafka.landed)) == (2, 4)


@pytest.mark.parametrize(
    ("problem", "landed"),
    [(NO_ANSWER, 10), (RecordRefusedError("raw.bulk.replayed", 0.1, "too large"), 1)],
    ids=["for a while", "refused"],
)
def test_what_kafka_never_confirms_is_reported(problem: NotDurableError, landed: int) -> None:
    store, kafka = FakeStore(), FakeKafka(problem, tries=99)
    store.park(message_of())

    with pytest.raises(type(problem)):
        replay(plan_of(store), store, kafka)

    assert len(kafka.landed) == landed
