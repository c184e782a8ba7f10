"""What became of one accepted message, by all that Kafka and the lake hold of it."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from pyiceberg.catalog import Catalog

from fleetlane.events import headers as ce
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lake.tables import EVENTS, PARKED
from fleetlane.events.metadata import Outcome, Parsed
from operations.fleet.tables import table_of
from operations.ledger.message_evidence import MessageEvidence
from operations.messages.parked import ParkedMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeEvidence:
    """Ids of events; of parked messages, their id and the SHA-256 of their bytes in hex."""

    event_ids: frozenset[str] = frozenset()
    parked: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def read(cls, catalog: Catalog) -> Self:
        """Read both tables wholly: for a lake that is as small as what is to be proved."""
        events = table_of(catalog, EVENTS).scan(selected_fields=("id",)).to_arrow()
        parked = table_of(catalog, PARKED).scan(selected_fields=("id", "headers", "body"))
        return cls(
            event_ids=frozenset(events.column("id").to_pylist()),
            parked=frozenset(
                (row["id"], _digest(row))
                for row in parked.to_arrow().to_pylist()
                if row["id"] is not None
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One 202 that a device received, and what it knows of the message; ``None`` is unknown.

    ``sha256`` is the digest, in hex, of the bytes sent. ``events`` is how many events they hold,
    ``parked`` the reason for which they should be parked.
    """

    raw_id: str
    sha256: str | None = None
    events: int | None = None
    parked: ParkedReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageResult:
    """A final ``outcome``; without one the message is lost so far, and ``problem`` says why.

    With one, ``problem`` says how it differs from what the device expected, if it does. ``copy``
    is a parked message's: bytes by reference are still to be fetched and compared.
    """

    outcome: Outcome | None = None
    problem: str = ""
    copy: ParkedMessage | None = None


def result_of(
    receipt: Receipt, found: MessageEvidence | None, lake: LakeEvidence | None = None
) -> MessageResult:
    """The result by what is in Kafka, and in the ``lake`` if given; no payload is fetched."""
    if found is None:
        return _lost("accepted, but nothing of it is in Kafka")
    fitting = {receipt.sha256, None}  # a body that ingest truncated has no digest
    if receipt.sha256 is not None and found.landings and fitting.isdisjoint(found.landings):
        landed = ", ".join(filter(None, found.landings))
        return _lost(f"landed with SHA-256 {landed}, sent with {receipt.sha256}")
    attempt = found.attempt_of(receipt.sha256)
    if attempt is None:
        return _lost("landed, but never attempted" if found.landings else "never landed")
    match attempt.outcome:
        case Outcome.DIVERTED:
            return _lost(f"diverted in attempt {attempt.attempt}, never finished")
        case Outcome.PARKED:
            return _on_parked(receipt, found, lake)
        case Outcome.PARSED | Outcome.EMPTY:
            return _on_parsed(receipt, found, attempt, lake)


def _lost(problem: str) -> MessageResult:
    return MessageResult(problem=problem)


def _on_parsed(
    receipt: Receipt, found: MessageEvidence, attempt: Parsed, lake: LakeEvidence | None
) -> MessageResult:
    events, there = found.events_given(attempt), found.events_there(attempt)
    if there < events:
        return _lost(f"parsed to {events} events, of which {there} are there")
    if found.not_unique:
        return _lost(f"parsed, but {len(found.not_unique)} of its events are in no unique topic")
    if receipt.events not in (None, attempt.events):
        return _lost(f"parsed to {attempt.events} events, {receipt.events} were sent")
    unkept = 0 if lake is None else len(found.event_ids[attempt.revision] - lake.event_ids)
    if unkept:
        return _lost(f"parsed, but {unkept} of its events are not in the lake")
    problem = f"parsed, not parked as {receipt.parked}" if receipt.parked else ""
    return MessageResult(outcome=attempt.outcome, problem=problem)


def _on_parked(sent: Receipt, found: MessageEvidence, lake: LakeEvidence | None) -> MessageResult:
    if not found.parked:
        return _lost("reported as parked, but not in parked")
    wanted = sent.sha256 or next(filter(None, found.landings), None) or next(iter(found.parked))
    copy = found.parked.get(wanted)
    if copy is None:
        return _lost(f"parked with other bytes than those sent, SHA-256 {wanted}")
    if lake is not None and (sent.raw_id, wanted) not in lake.parked:
        return _lost("parked, but not in the lake")
    problem = ""
    if sent.parked is None and sent.events is not None:
        problem = f"parked as {copy.reason}, {sent.events} events were sent"
    elif sent.parked not in (None, copy.reason):
        problem = f"parked as {copy.reason}, not as {sent.parked}"
    return MessageResult(outcome=Outcome.PARKED, problem=problem, copy=copy)


def _digest(row: dict[str, Any]) -> str:
    """A reference's own, else that of the bytes."""
    for header in row["headers"]:
        if header["key"] == ce.DATA_SHA256:
            return str(header["value"].decode(errors="replace"))
    return sha256(row["body"] or b"").hexdigest()
