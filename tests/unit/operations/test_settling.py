"""Waiting for the end of all messages: not longer than needed, and never for ever."""

from collections.abc import Sequence

from clients.kafka.reader import KafkaUnreadableError
from fleetlane.events.metadata import Outcome
from operations.ledger.evidence import Evidence
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import SettlingLimits, wait_until_settled
from tests.unit.operations.kafka_records import (
    RAW_ID,
    FakeRecord,
    canonical,
    landed,
    received,
    tried,
)

RECEIPTS = [Receipt(raw_id=RAW_ID)]
PARSED = tried(Outcome.PARSED, events=1)


class FakeSource:
    """Gives its readings one after another, then nothing; ``None`` stands for Kafka being down."""

    def __init__(self, *readings: Sequence[FakeRecord] | None) -> None:
        self._readings = list(readings)

    def read_available(self) -> Sequence[FakeRecord]:
        reading = self._readings.pop(0) if self._readings else []
        if reading is None:
            raise KafkaUnreadableError("down")
        return reading


class FakeClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def limits(self) -> SettlingLimits:
        return SettlingLimits(
            deadline_s=100,
            quiet_s=10,
            poll_interval_s=1,
            clock_s=lambda: self.now_s,
            wait=self.wait,
        )

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


def test_it_returns_as_soon_as_the_last_event_is_there() -> None:
    source = FakeSource([landed(), received()], [PARSED], [], [canonical()], [canonical()])
    clock = FakeClock()

    is_settled = wait_until_settled(RECEIPTS, Evidence(), source, limits=clock.limits())

    assert (is_settled, clock.now_s) == (True, 3)


def test_it_gives_up_when_nothing_moves() -> None:
    clock = FakeClock()

    is_settled = wait_until_settled(
        RECEIPTS, Evidence(), FakeSource([landed()]), limits=clock.limits()
    )

    assert (is_settled, clock.now_s) == (False, 11)


def test_it_gives_up_at_the_deadline_though_something_moves() -> None:
    clock = FakeClock()
    source = FakeSource(*([[landed()], []] * 200))

    wait_until_settled(RECEIPTS, Evidence(), source, limits=clock.limits())

    assert clock.now_s == 101


def test_it_outlasts_an_outage_of_kafka() -> None:
    source = FakeSource([landed(), received()], None, None, [canonical(), PARSED])

    is_settled = wait_until_settled(RECEIPTS, Evidence(), source, limits=FakeClock().limits())

    assert is_settled


def test_a_kafka_that_cannot_be_read_is_not_quiet() -> None:
    down = [None] * 20  # twice as long as it may be quiet
    source = FakeSource([landed(), received()], *down, [canonical(), PARSED])

    is_settled = wait_until_settled(RECEIPTS, Evidence(), source, limits=FakeClock().limits())

    assert is_settled


def test_what_is_there_of_others_is_read_to_its_end() -> None:
    ended = [landed(), received(), canonical(), PARSED]
    source, evidence = FakeSource([*ended, *[landed()] * 5_000], [landed()]), Evidence()

    wait_until_settled(RECEIPTS, evidence, source, limits=FakeClock().limits())

    assert evidence.by_raw_id[RAW_ID].landings.total() == 5_002


def test_it_is_not_the_end_while_kafka_cannot_be_read() -> None:
    ended = [landed(), received(), canonical(), PARSED]
    source, evidence = FakeSource([*ended, *[landed()] * 5_000], None, [landed()]), Evidence()

    wait_until_settled(RECEIPTS, evidence, source, limits=FakeClock().limits())

    assert evidence.by_raw_id[RAW_ID].landings.total() == 5_002


def test_it_tells_how_many_are_still_on_their_way() -> None:
    told: list[int] = []
    source = FakeSource([landed()], [received(), canonical(), PARSED])

    wait_until_settled(
        RECEIPTS, Evidence(), source, limits=FakeClock().limits(), on_progress=told.append
    )

    assert told == [1, 0]
