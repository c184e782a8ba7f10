"""The reading of what a child sent: nothing of it is taken on trust."""

import json
from itertools import accumulate, pairwise
from typing import Final

from fleetlane.events.topics import RECORD_BYTES_MAX
from fleetlane.parsers.sandbox.child.attempts import Part
from fleetlane.parsers.sandbox.columns import CanonicalRecords
from fleetlane.parsers.sandbox.notes import Notes
from fleetlane.parsers.sandbox.packets import Reply
from fleetlane.parsers.sandbox.verdicts import DETAIL_CHARS_MAX, Verdict
from fleetlane.parsers.sandbox.worker.forged_replies import ForgedReplyError
from fleetlane.parsers.sandbox.worker.offsets import rise_by_at_most

_VERDICTS: Final = bytes(map(int, Verdict))


def read_result(
    reply: Reply, columns: memoryview, topics: tuple[str, ...]
) -> tuple[Part, CanonicalRecords]:
    """Read what a child sent; the columns lie one behind the other, and are of the right size.

    Raises:
        ForgedReplyError: It does not hold together.
    """
    bounds = pairwise(accumulate(reply.column_sizes, initial=0))
    verdicts, counts, parse_us, first_ms, last_ms, *records_and_details = (
        columns[begin:end] for begin, end in bounds
    )
    key_ends, value_ends, topic_indexes, keys, values, details = records_and_details
    records = CanonicalRecords(
        topics=topics,
        topic_indexes=topic_indexes[: reply.events],
        key_ends=key_ends.cast("i")[: reply.events + 1],
        keys=keys[: reply.key_bytes],
        value_ends=value_ends.cast("i")[: reply.events + 1],
        values=values[: reply.value_bytes],
    )
    notes = Notes(
        verdicts[: reply.messages],
        counts.cast("I")[: reply.messages],
        parse_us.cast("I")[: reply.messages],
        first_ms.cast("q"),
        last_ms.cast("q"),
    )
    _check_records(records)
    _check_notes(notes, events=reply.events)
    return Part(notes, _details(bytes(details[: reply.detail_bytes]))), records


def _details(written: bytes) -> dict[int, str]:
    try:
        told = json.loads(written) if written else {}
        return {int(place): str(text)[:DETAIL_CHARS_MAX] for place, text in told.items()}
    except (ValueError, AttributeError, RecursionError) as problem:
        raise ForgedReplyError(f"notes that cannot be read: {problem}") from None


def _check_notes(notes: Notes, *, events: int) -> None:
    if notes.verdicts.tobytes().translate(None, _VERDICTS):
        raise ForgedReplyError("notes of a verdict that there is not")
    if any(notes.events[place] for place in notes.failures()):
        raise ForgedReplyError("events of a message that failed")
    if sum(notes.events.tolist()) != events:
        raise ForgedReplyError("another number of events than of records")


def _check_records(records: CanonicalRecords) -> None:
    """Rows that do not hold together would end the query, and so would one that is too large."""
    for ends, data in ((records.key_ends, records.keys), (records.value_ends, records.values)):
        if ends[0] != 0 or ends[-1] != len(data) or not rise_by_at_most(ends, RECORD_BYTES_MAX):
            raise ForgedReplyError(
                f"offsets that do not hold together, or a record over {RECORD_BYTES_MAX} bytes"
            )
    known = bytes(range(len(records.topics)))
    if records.topic_indexes.tobytes().translate(None, known):
        raise ForgedReplyError("a topic that its flow does not have")
