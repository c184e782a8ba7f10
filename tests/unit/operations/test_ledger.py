"""The ledger finds every kind of trouble, by id."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import PayloadReference
from fleetlane.events.errors import ParkedReason
from fleetlane.events.metadata import Outcome
from tests.unit.operations.kafka_records import (
    BODY,
    OTHER_ID,
    SHA256,
    FakeRecord,
    canonical,
    landed,
    parked,
    parking_of,
    received,
    tried,
    unique,
)
from tests.unit.operations.ledgers import PARSED, RECEIPT, FakeBucket, closed


def test_a_message_with_all_its_events_is_parsed() -> None:
    ledger = closed(PARSED)

    assert ledger.line() == (
        "ledger: accepted=1 parsed=1 empty=0 duplicate=0 parked=0 unanswered=0 lost=0 invented=0"
    )


def test_the_machine_s_part_has_the_nine_numbers() -> None:
    ledger = closed(PARSED)

    assert orjson.loads(ledger.to_json()) == {
        "accepted": 1,
        "parsed": 1,
        "empty": 0,
        "duplicate": 0,
        "parked": 0,
        "lost": 0,
        "invented": 0,
        "unanswered": 0,
        "seconds": 1.5,
    }


def test_an_event_that_is_missing_without_repeats_is_lost_where_its_flow_dedupes() -> None:
    records = [*PARSED, unique(0)]

    deduped, other = closed(records, deduped="thermo"), closed(records, deduped="gps")

    assert (deduped.lost, deduped.parsed, other.lost, other.parsed) == (1, 0, 0, 1)
    assert "1 of its events are in no unique topic" in next(deduped.findings.lines())


@given(st.permutations([*PARSED, canonical(0), unique(0), unique(1), unique(1)]))
def test_all_events_without_repeats_are_parsed_and_a_crashs_repeat_is_fine(
    records: list[FakeRecord],
) -> None:
    ledger = closed(records, deduped="thermo")

    assert (ledger.parsed, ledger.lost, ledger.invented) == (1, 0, 0)


def test_another_revision_without_repeats_is_awaited_too() -> None:
    again = [canonical(0, revision=1), canonical(1, revision=1)]
    tries = [tried(Outcome.PARSED, attempt=2, events=2, revision=1)]

    ledger = closed([*PARSED, *again, *tries, unique(0), unique(1)], deduped="thermo")

    assert "2 of its events are in no unique topic" in next(ledger.findings.lines())


def test_what_stands_without_repeats_alone_is_invented() -> None:
    ledger = closed([*PARSED, unique(0), unique(1), unique(2)], deduped="thermo")

    assert (ledger.parsed, ledger.invented) == (1, 1)


def test_a_message_without_events_is_empty() -> None:
    ledger = closed([landed(), tried(Outcome.EMPTY)])

    assert (ledger.empty, ledger.lost) == (1, 0)


def test_a_message_parked_with_its_bytes_is_not_lost() -> None:
    ledger = closed([landed(), tried(Outcome.PARKED), parked()])

    assert (ledger.parked, ledger.lost) == (1, 0)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([], "nothing of it is in Kafka"),
        ([received()], "never landed"),
        ([landed()], "landed, but never attempted"),
        ([landed(), tried(Outcome.DIVERTED)], "diverted in attempt 1, never finished"),
        ([record for record in PARSED if record != canonical(1)], "of which 1 are there"),
        ([landed(), tried(Outcome.PARKED)], "not in parked"),
        ([landed(), tried(Outcome.PARKED), parked(body=b"other")], "parked with other bytes"),
        ([landed(body=b"other"), *PARSED[1:]], "landed with SHA-256"),
    ],
)
def test_what_is_lost_is_found(records: list[FakeRecord], problem: str) -> None:
    ledger = closed(records)

    assert ledger.lost == 1
    assert problem in ledger.findings.lost[0].problem


def test_fewer_events_than_were_sent_is_a_loss_whatever_the_parser_says() -> None:
    ledger = closed(PARSED, [replace(RECEIPT, events=3)])

    assert ledger.findings.lost[0].problem == "parsed to 2 events, 3 were sent"


def test_a_diverted_message_that_is_parsed_later_is_parsed() -> None:
    ledger = closed([tried(Outcome.PARSED, attempt=2, events=2), tried(Outcome.DIVERTED), *PARSED])

    assert (ledger.parsed, ledger.lost) == (1, 0)


def test_a_parked_message_that_a_replay_parsed_is_parsed() -> None:
    replayed = [landed(attempt=2), tried(Outcome.PARSED, attempt=2, events=1), canonical()]

    ledger = closed([landed(), received(), tried(Outcome.PARKED), parked(), *replayed])

    assert (ledger.parsed, ledger.parked, ledger.lost, ledger.invented) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("events", "there", "found"),
    [(1, 1, (1, 0, 0)), (3, 3, (1, 0, 0)), (1, 0, (0, 1, 0)), (1, 2, (1, 0, 1))],
    ids=["fewer", "more", "lost", "invented"],
)
def test_of_a_replayed_message_the_events_of_the_highest_revision_count(
    events: int, there: int, found: tuple[int, int, int]
) -> None:
    again = [canonical(ordinal, revision=1) for ordinal in range(there)]
    newest = tried(Outcome.PARSED, attempt=2, events=events, revision=1)

    ledger = closed([newest, *PARSED, *again, landed(attempt=2, revision=1)])

    assert (ledger.parsed, ledger.lost, ledger.invented) == found
    assert ledger.findings.repeats == 0


@pytest.mark.parametrize("outcome", [Outcome.PARKED, Outcome.EMPTY, Outcome.DIVERTED])
def test_a_replay_that_gives_nothing_takes_nothing_away(outcome: Outcome) -> None:
    ledger = closed([*PARSED, tried(outcome, attempt=2, revision=1)])

    assert (ledger.parsed, ledger.lost) == (1, 0)


def test_a_copy_in_the_slow_lane_alone_is_no_landing() -> None:
    ledger = closed([landed(attempt=2), *PARSED[1:]])

    assert ledger.findings.invented[0].problem == "is downstream, but never landed"


@pytest.mark.parametrize(
    "record", [canonical(), tried(Outcome.EMPTY), parked()], ids=["canonical", "parsed", "parked"]
)
def test_what_never_landed_is_invented(record: FakeRecord) -> None:
    ledger = closed([record], [])

    assert ledger.invented == 1


def test_an_event_that_no_attempt_gave_is_invented() -> None:
    ledger = closed([*PARSED, canonical(2)])

    assert (ledger.parsed, ledger.invented) == (1, 1)


def test_a_record_downstream_that_nobody_can_read_is_invented() -> None:
    ledger = closed([FakeRecord(topic="canonical.thermo", value=b"{", offset=7)], [])

    assert ledger.findings.invented[0].raw_id == "canonical.thermo/0/7"


def test_a_parked_record_that_is_no_message_leads_back_to_one_that_landed() -> None:
    foreign = FakeRecord(topic="raw.standard", value=b"x", headers=(("a", b"1"),))
    position = parking_of(ParkedReason.BAD_ENVELOPE).position
    headers = (("ce_parkedfrom", str(position).encode()),)

    ledger = closed([foreign, FakeRecord(topic="parked", value=b"x", headers=headers)], [])

    assert ledger.invented == 0


def test_the_same_id_seen_twice_is_a_duplicate() -> None:
    ledger = closed([*PARSED, landed()], [RECEIPT, RECEIPT])

    assert (ledger.accepted, ledger.parsed, ledger.duplicate) == (2, 1, 1)


def test_what_landed_without_a_receipt_is_unanswered_and_not_lost() -> None:
    ledger = closed([*PARSED, landed(OTHER_ID)])

    assert (ledger.unanswered, ledger.lost) == (1, 0)


def test_repeats_with_equal_ids_are_counted_and_are_no_trouble() -> None:
    ledger = closed([*PARSED, landed(), *PARSED[2:4]])

    assert (ledger.findings.repeats, ledger.invented, ledger.lost) == (1, 0, 0)


def test_a_landing_without_a_row_in_fleet_received_is_reported() -> None:
    ledger = closed([record for record in PARSED if record.topic != "fleet.received"])

    assert ledger.findings.unreceived == 1


def test_what_is_parked_by_reference_must_be_in_the_bucket() -> None:
    kept = PayloadReference(key="kept", sha256=SHA256)
    records = [landed(), tried(Outcome.PARKED), parked(reference=kept)]

    ledgers = [closed(records, payloads=FakeBucket(kept=BODY)), closed(records)]

    assert [ledger.lost for ledger in ledgers] == [0, 1]


def test_an_end_that_the_device_did_not_expect_is_reported() -> None:
    expecting = replace(RECEIPT, parked=ParkedReason.TIMEOUT)

    ledger = closed([landed(), tried(Outcome.PARKED), parked()], [expecting])

    assert ledger.findings.unexpected[0].problem == "parked as malformed, not as timeout"


@given(st.permutations([*PARSED, tried(Outcome.DIVERTED), canonical(0), landed(attempt=2)]))
def test_the_order_of_records_does_not_matter(records: list[FakeRecord]) -> None:
    ledger = closed(records)

    assert (ledger.parsed, ledger.lost, ledger.invented) == (1, 0, 0)
