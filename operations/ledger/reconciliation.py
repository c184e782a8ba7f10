"""Closing the ledger: every accepted id to one outcome, and nothing downstream without one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, Protocol

from fleetlane.events.envelope import PayloadReference
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import BUFFER_BYTES_MAX
from fleetlane.events.metadata import Outcome
from operations.ledger.evidence import Evidence
from operations.ledger.ledger import Finding, Findings, Ledger
from operations.ledger.verdicts import Receipt, Verdict, verdict_on

_SHOWN_MAX: Final = 20


class ParkedPayloads(Protocol):
    """Where parked bodies are; ``clients.s3.payload_bucket.PayloadBucket`` is one."""

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        """Fetch a body and check its digest; raises a ``FleetlaneError`` where that fails."""


def close_ledger(
    receipts: Iterable[Receipt], evidence: Evidence, *, payloads: ParkedPayloads, seconds: float
) -> Ledger:
    """Hold what devices saw against what stands in Kafka.

    Args:
        receipts: One for each 202 that a device saw, repeats of an id included.
        evidence: All that was read from the topics of ``LEDGER_TOPICS``.
        payloads: The bucket of parked bodies.
        seconds: How long the run took.
    """
    seen = list(receipts)
    accepted = {receipt.raw_id: receipt for receipt in seen}
    verdicts = {
        raw_id: _checked(verdict_on(receipt, evidence.by_raw_id.get(raw_id)), payloads)
        for raw_id, receipt in accepted.items()
    }
    landed = [raw_id for raw_id, traces in evidence.by_raw_id.items() if traces.landings]
    invented = list(_invented(evidence))
    outcomes = Counter(verdict.outcome for verdict in verdicts.values())
    return Ledger(
        accepted=len(seen),
        duplicate=len(seen) - len(accepted),
        parsed=outcomes[Outcome.PARSED],
        empty=outcomes[Outcome.EMPTY],
        parked=outcomes[Outcome.PARKED],
        lost=outcomes[None],
        invented=len(invented),
        unanswered=sum(raw_id not in accepted for raw_id in landed),
        seconds=round(seconds, 3),
        findings=Findings(
            lost=_shown(_problems(verdicts)),
            invented=_shown(invented),
            unexpected=_shown(_surprises(verdicts)),
            repeats=evidence.repeats,
            unreceived=sum(not evidence.by_raw_id[raw_id].is_received for raw_id in landed),
        ),
    )


def _checked(verdict: Verdict, payloads: ParkedPayloads) -> Verdict:
    """Look whether the bytes of what is parked by reference are really there."""
    copy = verdict.copy
    if copy is None or copy.reference is None:
        return verdict
    try:
        payloads.get(copy.reference, body_bytes=copy.body_bytes, bytes_max=BUFFER_BYTES_MAX)
    except FleetlaneError as problem:
        return replace(verdict, outcome=None, problem=f"parked by reference, but {problem}")
    return verdict


def _problems(verdicts: dict[str, Verdict]) -> Iterator[Finding]:
    for raw_id, verdict in verdicts.items():
        if verdict.outcome is None:
            yield Finding(raw_id=raw_id, problem=verdict.problem)


def _surprises(verdicts: dict[str, Verdict]) -> Iterator[Finding]:
    for raw_id, verdict in verdicts.items():
        if verdict.outcome is not None and verdict.surprise:
            yield Finding(raw_id=raw_id, problem=verdict.surprise)


def _invented(evidence: Evidence) -> Iterator[Finding]:
    for raw_id, traces in evidence.by_raw_id.items():
        attempt, there = traces.attempt, traces.events_there
        if traces.is_downstream and not traces.landings:
            yield Finding(raw_id=raw_id, problem="stands downstream, but never landed")
        elif attempt is not None and attempt.outcome is Outcome.PARSED and there > attempt.events:
            problem = f"has {there} events; its parser gave {attempt.events}"
            yield Finding(raw_id=raw_id, problem=problem)
    for topic, event_id in evidence.unique.invented():
        yield Finding(raw_id=event_id, problem=f"stands in {topic}, and in no canonical topic")
    for place in sorted(evidence.foreign_downstream - evidence.foreign_raw):
        yield Finding(raw_id=place, problem="leads to no message that landed")


def _shown(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding, _ in zip(findings, range(_SHOWN_MAX), strict=False))
