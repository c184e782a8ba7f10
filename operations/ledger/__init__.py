"""The ledger: what devices were promised, compared with what is in Kafka; by id, not by count."""

from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.ledger import Finding, Findings, Ledger
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import reconcile
from operations.ledger.settling import SettlingLimits, wait_until_settled
from operations.ledger.unique_events import deduped_streams

__all__ = [
    "LEDGER_TOPICS",
    "Evidence",
    "Finding",
    "Findings",
    "Ledger",
    "Receipt",
    "SettlingLimits",
    "deduped_streams",
    "reconcile",
    "wait_until_settled",
]
