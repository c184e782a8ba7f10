"""What became of one accepted message, judged by all that Kafka holds of it."""

from dataclasses import dataclass

from fleetlane.events.errors import ParkedReason
from fleetlane.events.metadata import Outcome, Parsed
from operations.ledger.evidence import ParkedCopy, Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One 202 that a device saw, and what it knows of the message; ``None`` is not known.

    ``sha256`` is the digest, in hex, of the bytes sent. ``events`` is how many events they hold,
    ``parked`` the reason for which they should end parked.
    """

    raw_id: str
    sha256: str | None = None
    events: int | None = None
    parked: ParkedReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A final ``outcome``, or ``None`` and the ``problem``: so far, the message is lost.

    ``copy`` is what a parked one's bytes are still to be fetched and compared by, if any.
    ``surprise`` says how a message that is not lost ended otherwise than its device expected.
    """

    outcome: Outcome | None = None
    problem: str = ""
    surprise: str = ""
    copy: ParkedCopy | None = None


def verdict_on(receipt: Receipt, traces: Traces | None) -> Verdict:
    """Judge by what is in Kafka; no payload is fetched."""
    if traces is None:
        return Verdict(problem="accepted, but nothing of it is in Kafka")
    if traces.attempt is None:
        where = "landed, but never tried" if traces.landings else "never landed"
        return Verdict(problem=where)
    if receipt.sha256 and traces.landed_sha256 not in (None, receipt.sha256):
        problem = f"landed with SHA-256 {traces.landed_sha256}, sent with {receipt.sha256}"
        return Verdict(problem=problem)
    match traces.attempt.outcome:
        case Outcome.DIVERTED:
            problem = f"diverted in attempt {traces.attempt.attempt}, never finished"
            return Verdict(problem=problem)
        case Outcome.PARKED:
            return _on_parked(receipt, traces)
        case Outcome.PARSED | Outcome.EMPTY:
            return _on_parsed(receipt, traces, traces.attempt)


def _on_parsed(receipt: Receipt, traces: Traces, attempt: Parsed) -> Verdict:
    there = traces.events_there
    if there < attempt.events:
        return Verdict(problem=f"parsed to {attempt.events} events, of which {there} are there")
    if traces.not_unique:
        missing = len(traces.not_unique)
        return Verdict(problem=f"parsed, but {missing} of its events are in no unique topic")
    if receipt.events not in (None, attempt.events):
        return Verdict(problem=f"parsed to {attempt.events} events, {receipt.events} were sent")
    surprise = f"parsed, not parked as {receipt.parked}" if receipt.parked else ""
    return Verdict(outcome=attempt.outcome, surprise=surprise)


def _on_parked(receipt: Receipt, traces: Traces) -> Verdict:
    wanted = receipt.sha256 or traces.landed_sha256
    copies = traces.parked
    if not copies:
        return Verdict(problem="said to be parked, but not in parked")
    copy = next(iter(copies.values())) if wanted is None else copies.get(wanted)
    if copy is None:
        return Verdict(problem=f"parked with other bytes than those sent, SHA-256 {wanted}")
    surprise = ""
    if receipt.parked is None and receipt.events is not None:
        surprise = f"parked as {copy.reason}, {receipt.events} events were sent"
    elif receipt.parked not in (None, copy.reason):
        surprise = f"parked as {copy.reason}, not as {receipt.parked}"
    return Verdict(outcome=Outcome.PARKED, surprise=surprise, copy=copy if copy.reference else None)
