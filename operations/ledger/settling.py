"""Waiting until every accepted message has its final outcome, or nothing changes any more."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from clients.kafka.reader import KafkaUnreadableError, Record
from operations.ledger.evidence import Evidence
from operations.ledger.message_results import Receipt, result_of

_MANY_RECORDS: Final = 5_000


class RecordSource(Protocol):
    """Gives what is new in the topics of ``LEDGER_TOPICS``; ``KafkaReader`` is one."""

    def read_available(self) -> Sequence[Record]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlingLimits:
    """How long to wait: in all, and while no new record appears; and how often to poll.

    ``clock_s`` is monotonic; ``wait`` sleeps.
    """

    deadline_s: float
    quiet_s: float
    poll_interval_s: float = 0.5
    clock_s: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep


def wait_until_settled(
    receipts: Iterable[Receipt],
    evidence: Evidence,
    source: RecordSource,
    *,
    limits: SettlingLimits,
    on_progress: Callable[[int], None] = lambda _: None,
) -> bool:
    """Read until every accepted message has its outcome and all its events, and to the end.

    Blocks. Adds what is read to ``evidence``. Kafka being unreadable counts as no new records.
    ``on_progress`` is called at each poll with the number of messages without a final outcome.
    Returns whether all have one; False if a limit was reached.
    """
    waiting = {receipt.raw_id: receipt for receipt in receipts}
    started_s = moved_s = limits.clock_s()
    while True:
        new_records = _folded(source, evidence)
        waiting = {key: one for key, one in waiting.items() if _is_unsettled(one, evidence)}
        on_progress(len(waiting))
        is_all_read = new_records is not None and new_records < _MANY_RECORDS
        if not waiting and is_all_read:  # other messages' too: half of them would look lost
            return True
        now_s = limits.clock_s()
        moved_s = now_s if new_records else moved_s
        if now_s - started_s > limits.deadline_s or now_s - moved_s > limits.quiet_s:
            return False
        if new_records is None or is_all_read:  # else more is waiting already
            limits.wait(limits.poll_interval_s)


def _folded(source: RecordSource, evidence: Evidence) -> int | None:
    """How many records were new; ``None`` while Kafka cannot be read."""
    try:
        records = source.read_available()
    except KafkaUnreadableError:
        return None
    evidence.fold(records)
    return len(records)


def _is_unsettled(receipt: Receipt, evidence: Evidence) -> bool:
    found = evidence.by_raw_id.get(receipt.raw_id)
    return result_of(receipt, found).outcome is None or not (found and found.is_received)
