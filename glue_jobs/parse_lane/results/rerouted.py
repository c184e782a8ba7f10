"""Raw records that go elsewhere: to another topic for another attempt, or to ``parked``."""

from collections.abc import Iterable
from contextlib import suppress
from copy import replace
from typing import Any, Final

from clients.s3.payload_bucket import PayloadMissingError
from fleetlane.events import headers as ce
from fleetlane.events import topics
from fleetlane.events.envelope import Header, Message, Parking, headers_of, parked_headers
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import BulkCause, Lane
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from glue_jobs.parse_lane.results.output_batches import OutputRecord

_HEADER_BYTES_MAX: Final = 1024
_HEADERS_MAX: Final = 100
_DIVERTED_ONCE: Final = 2


def next_attempt(
    record: RawRecord, message: Message, topic: topics.RawTopic | str, **changes: Any
) -> OutputRecord:
    """The same message for another attempt, in ``topic``, with ``changes`` to its envelope."""
    again = replace(message, attempt=message.attempt + 1, **changes)
    return OutputRecord(str(topic), record.key, record.value, headers_of(again))


def over_topic(message: Message, lane: Lane) -> topics.RawTopic:
    """Where a message that exceeds its flow's budget goes, beside the topics of its lane.

    It comes there once: what exceeds the budget of time there goes to the slow lane. What landed in
    a bulk topic without the header of its cause, which ingest always writes, counts as late.
    """
    cause = (message.bulk_cause or BulkCause.LATE) if lane is Lane.BULK else None
    return topics.RawTopic(lane=lane, cause=cause, is_over=True)


def deferred_record(record: RawRecord, message: Message, *, is_over: bool) -> OutputRecord:
    """The same message for the slow lane again, which could not try it just now.

    However often that happens it is one attempt, unlike the first landing, and no try. But it has
    the header of its tries, with a count of 0: ``spaced_tries`` then lets a trigger pass.
    """
    headers = headers_of(replace(message, attempt=max(_DIVERTED_ONCE, message.attempt)))
    if not message.slow_tries:
        headers.append((ce.SLOW_TRIES, b"0"))
    topic = str(topics.RawTopic(lane=Lane.SLOW, is_over=is_over))
    deferred = OutputRecord(topic, record.key, record.value, headers)
    is_small = _size_bytes(deferred) <= topics.REROUTED_BYTES_MAX
    return deferred if is_small else untouched_record(record)


def own_topic_record(record: RawRecord, message: Message, flow: Flow) -> OutputRecord:
    """The same message for the topic that it would have landed in, had its flow been known.

    There it is behind all that landed before it, and the flow halts at it if it fails.
    """
    lane = Lane.SLOW if flow.lane is Lane.SLOW else message.lane
    own = next_attempt(record, message, flow.raw_topic(lane, device_type=message.device_type))
    if _size_bytes(own) > topics.RECORD_BYTES_MAX:  # no other takes it
        own = own._replace(topic=flow.raw_topic(Lane.SLOW, device_type=message.device_type))
    return own


def untouched_record(record: RawRecord) -> OutputRecord:
    """The record as it came, for the slow lane again: it could not be parked just now."""
    slow = str(topics.RawTopic(lane=Lane.SLOW))
    return OutputRecord(slow, record.key, record.value, record.headers)


def parked_record(
    record: RawRecord, parking: Parking, *, message: Message | None, payloads: Payloads
) -> OutputRecord:
    """The record as it came, and why it is parked; ``message`` is ``None`` if it is none.

    What it refers to is copied first to where nothing expires. A message with a large body, or what
    would be too large for its topic, is parked by reference, its value kept in the bucket of parked
    payloads: brokers keep this topic for ever. Raises ``PayloadUnavailableError`` where S3 does not
    keep it; nothing is parked yet.
    """
    headers = parked_headers(record.headers, parking)
    if message is not None and message.reference is not None:
        with suppress(PayloadMissingError):  # there is nothing to copy
            kept = payloads.kept(message.reference)
            headers = [*_without(headers, (ce.DATA_REF,)), (ce.DATA_REF, kept.key.encode())]
    parked = OutputRecord(topics.PARKED, record.key, record.value, headers)
    is_small = message is None or len(record.value or b"") <= topics.PARKED_INLINE_BYTES_MAX
    if is_small and _size_bytes(parked) <= topics.REROUTED_BYTES_MAX:
        return parked
    return _parked_by_reference(parked, name=str(parking.position), payloads=payloads)


def _parked_by_reference(parked: OutputRecord, *, name: str, payloads: Payloads) -> OutputRecord:
    reference = payloads.stored(parked.value or b"", name=name)
    headers: list[Header] = [
        *_without(parked.headers or (), (ce.DATA_REF, ce.DATA_SHA256)),
        (ce.DATA_REF, reference.key.encode()),
        (ce.DATA_SHA256, reference.sha256.encode()),
    ]
    small = OutputRecord(parked.topic, parked.key, None, headers)
    if _size_bytes(small) <= topics.REROUTED_BYTES_MAX:
        return small
    return small._replace(key=None, headers=_cut(headers))


def _cut(headers: list[Header]) -> list[Header]:
    """The newest headers, cut: no device can send so many, but a wrong producer can."""
    return [
        (name[:_HEADER_BYTES_MAX], (value or b"")[:_HEADER_BYTES_MAX])
        for name, value in headers[-_HEADERS_MAX:]
    ]


def _without(headers: Iterable[Header], names: tuple[str, ...]) -> list[Header]:
    return [header for header in headers if header[0].lower() not in names]


def _size_bytes(record: OutputRecord) -> int:
    headers = sum(len(name.encode()) + len(value or b"") for name, value in record.headers or ())
    return len(record.key or b"") + len(record.value or b"") + headers
