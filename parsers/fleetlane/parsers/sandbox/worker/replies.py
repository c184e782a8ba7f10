"""Reading what a child sent. None of it is trusted: a parser can write all of its memory."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Final

import msgspec

from fleetlane.events.lanes import BUFFER_BYTES_MAX, GrowthLimits
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from fleetlane.events.topics import RECORD_BYTES_MAX
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.packets import Reply
from fleetlane.parsers.sandbox.record_identity import with_identity
from fleetlane.parsers.sandbox.results import (
    DETAIL_CHARS_MAX,
    NO_TIME,
    NOTE_CODES,
    InvalidReplyError,
    Notes,
    Part,
    Verdict,
)
from fleetlane.parsers.sandbox.runs import EVENT_BYTES, PART_BYTES, Assignment, usual_bytes
from fleetlane.parsers.sandbox.worker.parser_child import Worked

_VERDICTS: Final = bytes({*Verdict} - {Verdict.CRASHED, Verdict.CHILDREN_USED_UP})
"""What a child may report: the other two are for the worker to say."""

_OFFSET_BYTES: Final = 4
_RECORD_BYTES_MIN: Final = 16
"""Each has a time's quality and an object at least."""
_DETAIL_BYTES_MAX: Final = 12 * DETAIL_CHARS_MAX + 64
"""Of a message: JSON writes a character as 12 bytes at most. Its place and inflated size beside."""

type _Size = Annotated[int, msgspec.Meta(ge=0, le=BUFFER_BYTES_MAX)]
_notes: Final = msgspec.json.Decoder(tuple[dict[int, str], dict[int, _Size]])
_GUARD: Final = (1 << 31).to_bytes(_OFFSET_BYTES, "little")


def read_records(
    reply: Reply, columns: memoryview, envelopes: Sequence[bytes], by: Assignment
) -> tuple[Part, CanonicalRecords]:
    """Read what a child sent of these messages, and write whose each record is.

    Raises ``InvalidReplyError`` where it cannot be read, for whatever reason.
    """
    try:
        check_growth(reply, by.growth)
        part, tails = read_result(reply, columns, by.topics)
        if by.growth.are_last and Verdict.TOO_LARGE_FOR_LANE in part.notes.verdicts.tobytes():
            raise InvalidReplyError("a verdict that its lane does not have")
        records = with_identity(tails, envelopes, part.notes.events, by)
        check_records(records)
    except InvalidReplyError:
        raise
    except Exception as problem:  # noqa: BLE001 - the edge to what a parser can forge
        name = type(problem).__name__
        raise InvalidReplyError(f"what cannot be read: {name}: {problem}") from None
    return part, records


def read_result(
    reply: Reply, columns: memoryview, topics: tuple[str, ...]
) -> tuple[Part, CanonicalRecords]:
    """Read what a child sent; the columns lie one behind the other, and are of the right size.

    Raises ``InvalidReplyError`` where it does not hold together, or what decoding it raises.
    """
    bounds = pairwise(accumulate(reply.column_sizes, initial=0))
    parts = [columns[begin:end] for begin, end in bounds]
    key_ends, value_ends, topic_indexes, keys, values, details = parts[len(NOTE_CODES) :]
    records = CanonicalRecords(
        topics=topics,
        topic_indexes=topic_indexes[: reply.events],
        key_ends=key_ends.cast("i")[: reply.events + 1],
        keys=keys[: reply.key_bytes],
        value_ends=value_ends.cast("i")[: reply.events + 1],
        values=values[: reply.value_bytes],
    )
    noted = zip(parts, NOTE_CODES, strict=False)
    notes = Notes._make(part.cast(code)[: reply.messages] for part, code in noted)
    check_records(records)
    _check_notes(notes, events=reply.events)
    written = bytes(details[: reply.detail_bytes])
    failures, inflated = _notes.decode(written) if written else ({}, {})
    cut = {place: text[:DETAIL_CHARS_MAX] for place, text in failures.items()}
    return Part(notes, cut, inflated), records


def _check_notes(notes: Notes, *, events: int) -> None:
    if notes.verdicts.tobytes().translate(None, _VERDICTS):
        raise InvalidReplyError("notes of a verdict that there is not")
    if any(notes.events[place] for place in notes.failures()):
        raise InvalidReplyError("events of a message that failed")
    if sum(notes.events.tolist()) != events:
        raise InvalidReplyError("another number of events than of records")
    times = {*zip(notes.first_event_ms, notes.last_event_ms, strict=True)} - {(NO_TIME, NO_TIME)}
    if not all(MILLIS_MIN <= first <= last <= MILLIS_MAX for first, last in times):
        raise InvalidReplyError("times that no events have")


def check_records(records: CanonicalRecords) -> None:
    """Refuse what would end the query: columns that do not hold together, or too large a record.

    Raises ``InvalidReplyError``.
    """
    for ends, data in ((records.key_ends, records.keys), (records.value_ends, records.values)):
        if ends[0] != 0 or ends[-1] != len(data) or not rise_by_at_most(ends, RECORD_BYTES_MAX):
            raise InvalidReplyError(
                f"offsets that do not hold together, or a record over {RECORD_BYTES_MAX} bytes"
            )
    known = bytes(range(256)[: len(records.topics)])
    if records.topic_indexes.tobytes().translate(None, known):
        raise InvalidReplyError("a topic that its flow does not have")


def check_growth(reply: Reply, limits: GrowthLimits) -> None:
    """Refuse more than one part of a child's messages may put out; raises ``InvalidReplyError``.

    A key is within what its event counts besides its own bytes.
    """
    if (
        reply.events > PART_BYTES // _RECORD_BYTES_MIN + limits.events_max
        or reply.key_bytes > EVENT_BYTES * reply.events
        or reply.value_bytes > 2 * PART_BYTES + limits.output_bytes_max
        or reply.detail_bytes > _DETAIL_BYTES_MAX * reply.messages
    ):
        raise InvalidReplyError("more than its messages may put out")


def charges_of(
    reply: Reply, worked: Worked, ahead_us: int, bodies: Sequence[bytes], by: Assignment
) -> tuple[int, int, int]:
    """Microseconds and bytes: what the child reports, but no less than what the worker saw.

    A child works ahead of its replies: ``ahead_us`` of that was charged before, and is given back
    where later replies did not use it. The third number is the same for the next reply.
    """
    beyond_us = max(worked) - int(len(bodies) * by.usual_s * 1e6)
    charged_bytes, messages = reply.charged_bytes, len(bodies)
    put_out_bytes = reply.value_bytes + EVENT_BYTES * reply.events
    if put_out_bytes > charged_bytes + usual_bytes(0, messages=messages):
        beyond_bytes = put_out_bytes - usual_bytes(sum(map(len, bodies)), messages=messages)
        charged_bytes = max(charged_bytes, beyond_bytes)
    charged_us = max(-ahead_us, reply.charged_us - ahead_us, beyond_us)
    ahead_us += min(charged_us, worked.cpu_us) - reply.charged_us
    return charged_us, charged_bytes, max(0, ahead_us)


def rise_by_at_most(offsets: memoryview, step_max: int) -> bool:
    """Whether no 32-bit offset is negative or below the one before it, or above it by too much.

    Else Arrow would read memory that is not the column's; one by one, Python takes ten times as
    long. All offsets but the last, and all but the first, are one very long number each, in which
    an offset is a digit of 32 bits: one subtraction gives all steps. Each digit first gets its
    highest bit (the guard), which no valid offset has: where it is still set afterwards, the step
    was not negative. The largest step is checked likewise.
    """
    steps_count, written = len(offsets) - 1, offsets.cast("B")
    guards = int.from_bytes(_GUARD * steps_count, "little")
    before = int.from_bytes(written[:-_OFFSET_BYTES], "little")
    after = int.from_bytes(written[_OFFSET_BYTES:], "little")
    if (before | after) & guards:
        return False
    steps = (after | guards) - before
    if steps & guards != guards:
        return False
    largest = int.from_bytes(step_max.to_bytes(_OFFSET_BYTES, "little") * steps_count, "little")
    return ((largest | guards) - (steps ^ guards)) & guards == guards
