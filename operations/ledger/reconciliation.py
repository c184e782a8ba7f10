"""The reconciled ledger, once settled: every accepted id has one outcome, nothing is invented."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple, Protocol

import orjson

from clients.kafka.reader import KafkaUnreadableError
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import BUFFER_BYTES_MAX
from fleetlane.events.metadata import Outcome
from operations.ledger.evidence import Evidence
from operations.ledger.message_evidence import MessageEvidence
from operations.ledger.message_results import LakeEvidence, MessageResult, Receipt, result_of
from operations.messages.stores import RecordSource

_MANY_RECORDS: Final = 5_000


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
    """Read ``LEDGER_TOPICS`` until every accepted message has its outcome and all its events.

    Blocks, and reads to the end. Adds what is read to ``evidence``. While Kafka cannot be read
    nobody knows whether it is quiet. ``on_progress`` is called at each poll with the number of
    messages without a final outcome. Returns whether all have one; False if a limit was reached.
    """
    waiting = {(receipt.raw_id, receipt.sha256): receipt for receipt in receipts}
    started_s = moved_s = limits.clock_s()
    while True:
        new_records = _folded(source, evidence)
        waiting = {key: one for key, one in waiting.items() if _is_unsettled(one, evidence)}
        on_progress(len(waiting))
        is_all_read = new_records is not None and new_records < _MANY_RECORDS
        if not waiting and is_all_read:  # other messages' too: half of them would look lost
            return True
        now_s = limits.clock_s()
        moved_s = moved_s if new_records == 0 else now_s
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


class Finding(NamedTuple):
    """A problem with one id; of a record without an id, its position."""

    raw_id: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The first few problems of each kind, and two counts.

    ``unexpected`` messages are not lost, but their outcome is not what the device expected.
    ``repeats`` are bodies that landed again under their id, which is fine. ``unreceived`` are ids
    that landed and are not in ``fleet.received``.
    """

    lost: tuple[Finding, ...] = ()
    invented: tuple[Finding, ...] = ()
    unexpected: tuple[Finding, ...] = ()
    repeats: int = 0
    unreceived: int = 0

    def lines(self) -> Iterator[str]:
        """A line for each finding that needs attention."""
        for kind in ("lost", "invented", "unexpected"):
            for raw_id, problem in getattr(self, kind):
                yield f"{kind}: {raw_id}: {problem}"
        if self.unreceived:
            yield f"unreceived: {self.unreceived} messages landed without a row in fleet.received"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Every accepted message by its final outcome. ``seconds`` is how long the run took."""

    accepted: int
    parsed: int
    empty: int
    duplicate: int
    parked: int
    lost: int
    invented: int
    unanswered: int
    seconds: float
    findings: Findings = field(default_factory=Findings)

    def __post_init__(self) -> None:
        accounted = self.parsed + self.empty + self.parked + self.duplicate + self.lost
        assert self.accepted == accounted, "every accepted message has exactly one outcome"

    @property
    def is_balanced(self) -> bool:
        return self.lost == 0 and self.invented == 0

    def line(self) -> str:
        return (
            f"ledger: accepted={self.accepted} parsed={self.parsed} empty={self.empty}"
            f" duplicate={self.duplicate} parked={self.parked} unanswered={self.unanswered}"
            f" lost={self.lost} invented={self.invented}"
        )

    def to_json(self) -> bytes:
        """The nine numbers as one JSON object."""
        numbers = {name: value for name, value in asdict(self).items() if name != "findings"}
        return orjson.dumps(numbers, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


_SHOWN_MAX: Final = 20


class ParkedPayloads(Protocol):
    """Where parked bodies are; ``clients.s3.payload_bucket.PayloadBucket`` is one."""

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        """Fetch a body and check its digest; raises a ``FleetlaneError`` where that fails."""


def reconcile(
    receipts: Iterable[Receipt],
    evidence: Evidence,
    *,
    payloads: ParkedPayloads,
    seconds: float,
    lake: LakeEvidence | None = None,
) -> Ledger:
    """Compare what devices were answered with what is in Kafka and the lake, after ``seconds``.

    There is a receipt for each 202 that a device received, repeats of a message included: those
    with equal id and digest. ``evidence`` holds all that was read from ``LEDGER_TOPICS``;
    ``payloads`` is the bucket of parked bodies. Without a ``lake`` only Kafka is looked at.
    """
    seen = list(receipts)
    accepted = {(receipt.raw_id, receipt.sha256): receipt for receipt in seen}
    results = [
        (one.raw_id, _checked(result_of(one, evidence.by_raw_id.get(one.raw_id), lake), payloads))
        for one in accepted.values()
    ]
    landed = [(raw_id, found) for raw_id, found in evidence.by_raw_id.items() if found.landings]
    invented = list(_invented(evidence))
    outcomes = Counter(result.outcome for _, result in results)
    return Ledger(
        accepted=len(seen),
        duplicate=len(seen) - len(accepted),
        parsed=outcomes[Outcome.PARSED],
        empty=outcomes[Outcome.EMPTY],
        parked=outcomes[Outcome.PARKED],
        lost=outcomes[None],
        invented=len(invented),
        unanswered=_unanswered(landed, accepted.keys()),
        seconds=round(seconds, 3),
        findings=Findings(
            lost=tuple(islice(_problems(results, are_lost=True), _SHOWN_MAX)),
            invented=tuple(invented[:_SHOWN_MAX]),
            unexpected=tuple(islice(_problems(results, are_lost=False), _SHOWN_MAX)),
            repeats=sum(one.landings.total() - len(one.landings) for _, one in landed),
            unreceived=sum(not found.is_received for _, found in landed),
        ),
    )


def _unanswered(
    landed: Iterable[tuple[str, MessageEvidence]], accepted: Collection[tuple[str, str | None]]
) -> int:
    """How many bodies landed that no device saw a 202 for; one that was cut has no digest."""
    answered = {*accepted, *((raw_id, None) for raw_id, _ in accepted)}
    return sum(
        (raw_id, digest) not in answered and (raw_id, None) not in accepted
        for raw_id, found in landed
        for digest in found.landings
    )


def _checked(result: MessageResult, payloads: ParkedPayloads) -> MessageResult:
    """Check that the bytes of a message parked by reference are really there."""
    copy = result.copy
    if copy is not None and copy.reference is not None:
        try:
            payloads.get(copy.reference, body_bytes=copy.body_bytes, bytes_max=BUFFER_BYTES_MAX)
        except FleetlaneError as problem:
            return replace(result, outcome=None, problem=f"parked by reference, but {problem}")
    return result


def _problems(results: Iterable[tuple[str, MessageResult]], *, are_lost: bool) -> Iterator[Finding]:
    for raw_id, result in results:
        if result.problem and (result.outcome is None) is are_lost:
            yield Finding(raw_id, result.problem)


def _invented(evidence: Evidence) -> Iterator[Finding]:
    for raw_id, found in evidence.by_raw_id.items():
        attempt = found.attempt_of(None)
        if not found.landings and (found.attempts or found.event_ids or found.parked):
            yield Finding(raw_id, "is downstream, but never landed")
        elif attempt is not None and attempt.outcome is Outcome.PARSED:
            events, there = found.events_given(attempt), found.events_there(attempt)
            if there > events:
                yield Finding(raw_id, f"has {there} events; its parser gave {events}")
    for topic, event_id in evidence.unique.invented():
        yield Finding(event_id, f"is in {topic}, but in no canonical topic")
    for place in sorted(evidence.foreign_downstream - evidence.foreign_raw):
        yield Finding(place, "belongs to no message that landed")
