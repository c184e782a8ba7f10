"""The ledger: what devices were promised against what stands in Kafka, by id, never by count."""

from local.ledger.closing import close_ledger
from local.ledger.evidence import LEDGER_TOPICS, Evidence
from local.ledger.receipts import Receipt
from local.ledger.report import Finding, Findings, Ledger
from local.ledger.settling import Patience, settled
from local.ledger.unique_events import deduped_streams

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
