"""The ledger: what devices were promised against what stands in Kafka, by id, never by count."""

from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.receipts import Receipt
from operations.ledger.reconciliation import close_ledger
from operations.ledger.report import Finding, Findings, Ledger
from operations.ledger.settling import Patience, settled
from operations.ledger.unique_events import deduped_streams

__all__ = [
    "LEDGER_TOPICS",
    "Evidence",
    "Finding",
    "Findings",
    "Ledger",
    "Patience",
    "Receipt",
    "close_ledger",
    "deduped_streams",
    "settled",
]
