"""A ledger of a few records and receipts."""

from collections.abc import Iterable

from clients.s3.payload_bucket import PayloadMissingError
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.metadata import Outcome
from operations.ledger.evidence import Evidence
from operations.ledger.message_results import LakeEvidence, Receipt
from operations.ledger.reconciliation import Ledger, reconcile
from tests.unit.operations.kafka_records import (
    RAW_ID,
    SHA256,
    FakeRecord,
    canonical,
    landed,
    received,
    tried,
)

RECEIPT = Receipt(raw_id=RAW_ID, sha256=SHA256)
PARSED = [landed(), received(), canonical(0), canonical(1), tried(Outcome.PARSED, events=2)]


class FakeBucket:
    def __init__(self, **objects: bytes) -> None:
        self._objects = objects

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        assert body_bytes <= bytes_max
        if reference.key not in self._objects:
            raise PayloadMissingError(reference.key)
        return self._objects[reference.key]


def closed(
    records: Iterable[FakeRecord],
    receipts: Iterable[Receipt] = (RECEIPT,),
    *,
    payloads: FakeBucket | None = None,
    deduped: str | None = None,
    lake: LakeEvidence | None = None,
) -> Ledger:
    evidence = Evidence(deduped=[deduped] if deduped else [])
    evidence.fold(records)
    return reconcile(receipts, evidence, payloads=payloads or FakeBucket(), seconds=1.5, lake=lake)
