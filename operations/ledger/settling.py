"""Waiting until every accepted message has come to its end, or nothing moves any more."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from clients.kafka.reader import KafkaUnreadableError
from operations.ledger.evidence import Evidence, KafkaRecord
from operations.ledger.verdicts import Receipt, verdict_on

_MANY_RECORDS: Final = 5_000


class RecordSource(Protocol):
    """Gives what is new in the topics of ``LEDGER_TOPICS``; ``KafkaReader`` is one."""

    def read_available(self) -> Sequence[KafkaRecord]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited: in all, and while no new record appears; how often is looked; by what.

    ``clock_s`` gives seconds that only grow; ``wait`` sleeps for so many seconds.
    """

    deadline_s: float = 120.0
    quiet_s: float = 30.0
    look_again_s: float = 0.5
    clock_s: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep


def settled(
    receipts: Iterable[Receipt],
    evidence: Evidence,
    source: RecordSource,
    *,
    patience: Patience = Patience(),
    on_progress: Callable[[int], None] = lambda _: None,
) -> bool:
    """Read on until every accepted message has its outcome and all its events, and to the end.

    Blocks. Takes what is read into ``evidence``. While Kafka cannot be read, nothing is new.

    Args:
        receipts: What devices saw; no more are coming.
        evidence: What was read before; grows.
        source: Where more comes from.
        patience: When to give up.
        on_progress: Told at each look how many messages are still on their way.

    Returns:
        Whether all came to their end; False if patience ran out.
    """
    waiting = {receipt.raw_id: receipt for receipt in receipts}
    started_s = moved_s = patience.clock_s()
    while True:
        news = _folded(source, evidence)
        waiting = {key: one for key, one in waiting.items() if _is_on_its_way(one, evidence)}
        on_progress(len(waiting))
        is_all_read = news is not None and news < _MANY_RECORDS
        if not waiting and is_all_read:  # of others, too: half of what is there tells wrong things
            return True
        now_s = patience.clock_s()
        moved_s = now_s if news else moved_s
        if now_s - started_s > patience.deadline_s or now_s - moved_s > patience.quiet_s:
            return False
        if news is None or is_all_read:  # else more is waiting already
            patience.wait(patience.look_again_s)


def _folded(source: RecordSource, evidence: Evidence) -> int | None:
    """How many records were new; ``None`` while Kafka cannot be read."""
    try:
        records = source.read_available()
    except KafkaUnreadableError:
        return None
    evidence.fold(records)
    return len(records)


def _is_on_its_way(receipt: Receipt, evidence: Evidence) -> bool:
    traces = evidence.by_raw_id.get(receipt.raw_id)
    return verdict_on(receipt, traces).outcome is None or not (traces and traces.is_received)
