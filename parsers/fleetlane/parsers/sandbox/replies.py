"""The reading of what a child sent: nothing of it is taken on trust."""

import json
import os
from itertools import accumulate, pairwise
from operator import sub
from typing import Final

from fleetlane.events.flows import EVENT_BYTES_MAX
from fleetlane.events.topics import RECORD_BYTES_MAX
from fleetlane.parsers.sandbox.attempts import NOTE_FIELDS, Part
from fleetlane.parsers.sandbox.columns import CanonicalRecords
from fleetlane.parsers.sandbox.packets import Reply, reply_sizes
from fleetlane.parsers.sandbox.shared_memory import ForgedReplyError, opened
from fleetlane.parsers.sandbox.verdicts import DETAIL_CHARS_MAX, Verdict

_VERDICTS: Final = frozenset(map(int, Verdict))


def read_result(
    reply: Reply, descriptor: int, topics: tuple[str, ...]
) -> tuple[Part, CanonicalRecords]:
    """Read what a child sent; closes ``descriptor``.

    Raises:
        ForgedReplyError: It does not hold together.
    """
    try:
        if min(reply) < 0:
            raise ForgedReplyError("a negative size")
        sizes = reply_sizes(reply, NOTE_FIELDS)
        memory = opened(descriptor, sum(sizes))
    finally:
        os.close(descriptor)
    begins = [0, *accumulate(sizes)]
    notes, key_ends, value_ends, topic_indexes, keys, values, details = (
        memory[begin:end] for begin, end in pairwise(begins)
    )
    records = CanonicalRecords(
        topics=topics,
        topic_indexes=topic_indexes[: reply.events],
        key_ends=key_ends.cast("i")[: reply.events + 1],
        keys=keys[: reply.key_bytes],
        value_ends=value_ends.cast("i")[: reply.events + 1],
        values=values[: reply.value_bytes],
    )
    _check_records(records)
    part = Part(notes.cast("q"), _details(bytes(details[: reply.detail_bytes])))
    _check_notes(part, events=reply.events)
    return part, records


def _details(written: bytes) -> dict[int, str]:
    try:
        told = json.loads(written) if written else {}
        return {int(place): str(text)[:DETAIL_CHARS_MAX] for place, text in told.items()}
    except (ValueError, AttributeError, RecursionError) as problem:
        raise ForgedReplyError(f"notes that cannot be read: {problem}") from None


def _check_notes(part: Part, *, events: int) -> None:
    numbers = part.notes.tolist()
    verdicts, told, parse_us = (numbers[field::NOTE_FIELDS] for field in range(3))
    if not _VERDICTS.issuperset(verdicts):
        raise ForgedReplyError("notes of a verdict that there is not")
    if min(told, default=0) < 0 or min(parse_us, default=0) < 0:
        raise ForgedReplyError("a negative number")
    if any(verdicts) and any(count for count, failed in zip(told, verdicts, strict=True) if failed):
        raise ForgedReplyError("events of a message that failed")
    if sum(told) != events:
        raise ForgedReplyError("another number of events than of records")


def _check_records(records: CanonicalRecords) -> None:
    """Rows that do not hold together would end the query, and so would one that is too large."""
    for ends, data in ((records.key_ends, records.keys), (records.value_ends, records.values)):
        offsets = ends.tolist()
        if offsets[0] != 0 or offsets[-1] != len(data) or offsets != sorted(offsets):
            raise ForgedReplyError("offsets that do not hold together")
        if len(data) > EVENT_BYTES_MAX:
            largest = max(map(sub, offsets[1:], offsets))
            if largest > RECORD_BYTES_MAX:
                raise ForgedReplyError(f"a record of {largest} bytes")
    if len(records) and max(records.topic_indexes) >= len(records.topics):
        raise ForgedReplyError("a topic that its flow does not have")
