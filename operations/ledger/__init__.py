"""The ledger: what devices were promised against what stands in Kafka, by id, never by count."""

from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.ledger import Finding, Findings, Ledger
from operations.ledger.reconciliation import close_ledger
from operations.ledger.settling import Patience, settled
from operations.ledger.unique_events import deduped_streams
from operations.ledger.verdicts import Receipt

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
