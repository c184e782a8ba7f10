"""The ledger counts bodies, not ids alone, and what must be in the lake."""

from hashlib import sha256

import pytest

from fleetlane.events.metadata import Outcome
from operations.ledger.message_results import LakeEvidence, Receipt
from tests.unit.operations.kafka_records import RAW_ID, SHA256, landed, parked, tried
from tests.unit.operations.ledgers import PARSED, RECEIPT, closed

OTHER_BODY = b"other"
OTHER_RECEIPT = Receipt(raw_id=RAW_ID, sha256=sha256(OTHER_BODY).hexdigest())


def test_of_two_bodies_under_one_id_the_one_that_is_nowhere_is_lost() -> None:
    ledger = closed(PARSED, [OTHER_RECEIPT, RECEIPT])

    assert (ledger.accepted, ledger.parsed, ledger.duplicate, ledger.lost) == (2, 1, 0, 1)
    assert "landed with SHA-256" in ledger.findings.lost[0].problem


def test_of_two_bodies_under_one_id_the_one_that_was_never_attempted_is_lost() -> None:
    ledger = closed([*PARSED, landed(body=OTHER_BODY, offset=1)], [RECEIPT, OTHER_RECEIPT])

    assert (ledger.parsed, ledger.duplicate, ledger.lost) == (1, 0, 1)
    assert ledger.findings.lost[0].problem == "landed, but never attempted"


def test_two_bodies_under_one_id_whose_events_have_equal_ids_are_lost() -> None:
    other = [landed(body=OTHER_BODY, offset=1), tried(Outcome.PARSED, events=2, offset=1)]

    ledger = closed([*PARSED, *other], [RECEIPT, OTHER_RECEIPT])

    assert (ledger.parsed, ledger.lost, ledger.invented) == (0, 2, 0)


def test_an_attempt_whose_raw_record_has_expired_counts_for_the_only_body_of_its_id() -> None:
    replayed = [tried(Outcome.PARSED, attempt=2, events=2, offset=7), *PARSED[2:4]]

    alone = closed([landed(), *replayed])
    beside = closed([landed(), landed(body=OTHER_BODY, offset=1), *replayed])

    assert (alone.parsed, beside.parsed, beside.lost) == (1, 0, 1)


def test_another_body_of_an_accepted_id_is_unanswered() -> None:
    ledger = closed([*PARSED, landed(body=OTHER_BODY, offset=1)])

    assert (ledger.parsed, ledger.unanswered, ledger.lost) == (1, 1, 0)


@pytest.mark.parametrize(("events_kept", "lost"), [(2, 0), (1, 1)])
def test_what_was_parsed_must_be_in_the_lake_with_all_its_events(
    events_kept: int, lost: int
) -> None:
    event_ids = frozenset(f"{RAW_ID}-{ordinal}" for ordinal in range(events_kept))

    ledger = closed(PARSED, lake=LakeEvidence(event_ids=event_ids, parked=frozenset()))

    assert (ledger.parsed, ledger.lost) == (1 - lost, lost)


@pytest.mark.parametrize(("digest", "lost"), [(SHA256, 0), (OTHER_RECEIPT.sha256, 1)])
def test_what_was_parked_must_be_in_the_lake_with_its_bytes(digest: str, lost: int) -> None:
    lake = LakeEvidence(event_ids=frozenset(), parked=frozenset({(RAW_ID, digest)}))

    ledger = closed([landed(), tried(Outcome.PARKED), parked()], lake=lake)

    assert (ledger.parked, ledger.lost) == (1 - lost, lost)
