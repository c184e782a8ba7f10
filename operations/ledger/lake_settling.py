"""Waiting until the lake holds what came of all accepted messages."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress

from pyiceberg.catalog import Catalog

from clients.lake.laptop_lake import LakeMissingError
from operations.ledger.evidence import Evidence
from operations.ledger.message_results import LakeEvidence, Receipt, result_of
from operations.ledger.reconciliation import SettlingLimits


def wait_for_lake(
    receipts: Iterable[Receipt],
    evidence: Evidence,
    lake_opened: Callable[[], AbstractContextManager[Catalog]],
    *,
    limits: SettlingLimits,
) -> LakeEvidence:
    """Read the lake until it lacks nothing that Kafka has of accepted messages, or no longer.

    Blocks for ``deadline_s`` at most, and returns what it read last: nothing where the lake's job
    has not written yet. ``lake_opened`` is ``lake_of`` of the platform.
    """
    waiting = [
        (receipt, found)
        for receipt in receipts
        if result_of(receipt, found := evidence.by_raw_id.get(receipt.raw_id)).outcome is not None
    ]

    def look() -> LakeEvidence:
        with suppress(LakeMissingError), lake_opened() as catalog:
            return LakeEvidence.read(catalog)
        return LakeEvidence()

    def is_enough(lake: LakeEvidence) -> bool:
        return all(result_of(*one, lake).outcome is not None for one in waiting)

    return awaited(look, is_enough, limits=limits)


def awaited[Found](
    look: Callable[[], Found], is_enough: Callable[[Found], bool], *, limits: SettlingLimits
) -> Found:
    """Look until it is enough, or until the deadline; what was seen last. Blocks."""
    give_up_s = limits.clock_s() + limits.deadline_s
    while True:
        is_last, found = limits.clock_s() > give_up_s, look()
        if is_last or is_enough(found):
            return found
        limits.wait(limits.poll_interval_s)
