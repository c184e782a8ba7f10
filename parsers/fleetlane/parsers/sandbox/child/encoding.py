"""From a parser's events to canonical records, by the rules of a flow and within its limits.

A record lacks its beginning: whose it is, ``record_identity`` writes in the worker.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from fleetlane.events.canonical import EventTime, TimeQuality, canonical_tail, event_data
from fleetlane.events.flows.event_ids import event_time_of
from fleetlane.events.times import DAY_MS
from fleetlane.events.topics import canonical_keys
from fleetlane.parsers.contract import Parser, accepts_buffer
from fleetlane.parsers.sandbox.canonical_records import Columns
from fleetlane.parsers.sandbox.child.charge import Growth
from fleetlane.parsers.sandbox.results import NO_SPAN_MS, OverLimitError, Verdict
from fleetlane.parsers.sandbox.runs import Assignment, Body, EncodedBody, message_facts_from

_CHECKED_BYTES: Final = 16 << 10
_CHECKED_EVENTS: Final = 100
"""Whether a message may grow on is checked each time that it has put out so much more: a check of
each event would cost more. One that has put out less is within what is usual."""


class Encoder:
    """Parses the messages of one assignment, and appends their canonical records to columns.

    ``span_ms`` has the first and the last event's time of the last message that passed. ``growth``
    counts what all of them became; ``left_bytes`` is what their flow may be charged for that.
    """

    def __init__(
        self, assignment: Assignment, parser: Parser, columns: Columns, *, left_bytes: int
    ) -> None:
        flow = self._flow = assignment.flow
        self._parse: Callable[[Any], object] = parser.parse
        self._takes_views = accepts_buffer(parser)
        self._columns, self._redirects = columns, flow.canonical.redirects
        self.growth = Growth(assignment.growth, left_bytes=left_bytes)
        self._checked_events = min(_CHECKED_EVENTS, flow.limits.events_max)
        self.span_ms = NO_SPAN_MS

    def encode(self, envelope: bytes, body: Body | EncodedBody) -> None:
        """Parse one message.

        Raises:
            MalformedMessage: Its body cannot be inflated.
            OverLimitError: It inflates to too much, or its events are too many, or too large.
            NotJsonError: An event holds what JSON does not.
            BaseException: Whatever the parser raises.
        """
        if isinstance(body, EncodedBody):
            received_bytes, plain = len(body.data), self.growth.inflated_body(body)
            events = self._parse(memoryview(plain) if self._takes_views else plain)
        else:
            received_bytes, events = len(body), self._parse(body)
        try:
            self._append_all(events, envelope, received_bytes)
        finally:
            close = getattr(events, "close", None)  # now, while its time still counts
            if close is not None:
                with suppress(Exception):
                    close()

    def _append_all(self, events: object, envelope: bytes, received_bytes: int) -> None:
        flow, largest = self._flow, self._flow.limits.event_bytes_max
        sender = message_facts_from(envelope, stream=flow.stream)
        key_of = canonical_keys(flow.canonical.key, device_id=sender.device_id)
        topics, keys, values, total_bytes = bytearray(), list[bytes](), list[bytes](), 0
        days, times_ms = set[int](), list[int]()
        events_next, bytes_next = self._checked_events, _CHECKED_BYTES
        for event in events:  # type: ignore[attr-defined] # what is no iterator fails here
            data = event_data(event)
            total_bytes += len(data)
            if len(data) > largest or len(keys) >= events_next or total_bytes > bytes_next:
                self._check(len(keys), len(data))
                self.growth.check(total_bytes, len(keys), received_bytes=received_bytes)
                events_next = min(len(keys) + _CHECKED_EVENTS, flow.limits.events_max)
                bytes_next = total_bytes + _CHECKED_BYTES
            when = event_time_of(event, flow.event_time, arrival_millis=sender.arrival_millis)
            if when.quality is TimeQuality.OK:
                day = when.bucket_millis // DAY_MS
                if day in days or len(days) < flow.limits.days_max:
                    days.add(day)
                    times_ms.append(when.bucket_millis)
                else:
                    when = EventTime(when.millis, TimeQuality.SCATTERED, sender.arrival_millis)
            value = canonical_tail(when, data)
            total_bytes += len(value) - len(data)
            keys.append(key_of(when.bucket_millis))
            values.append(value)
            topics.append(self._topic_index(event) if self._redirects else 0)
        self._columns.append_message(topics, keys, values)
        self.span_ms = (min(times_ms), max(times_ms)) if times_ms else NO_SPAN_MS
        if total_bytes > _CHECKED_BYTES or len(keys) > _CHECKED_EVENTS:
            self.growth.charge(total_bytes, len(keys), received_bytes=received_bytes)

    def _topic_index(self, event: Mapping[str, object]) -> int:
        for index, redirect in enumerate(self._redirects, start=1):
            if event.get(redirect.when) == redirect.equals:
                return index
        return 0

    def _check(self, events: int, event_bytes: int) -> None:
        """Check a message against its flow's own limits, before one more event."""
        limits = self._flow.limits
        if events >= limits.events_max:
            detail = f"more than {limits.events_max} events; the flow allows {limits.events_max}"
            raise OverLimitError(Verdict.TOO_MANY_EVENTS, detail)
        if event_bytes > limits.event_bytes_max:
            allowed = limits.event_bytes_max
            detail = f"an event is {event_bytes} bytes; the flow allows {allowed} bytes"
            raise OverLimitError(Verdict.EVENT_TOO_LARGE, detail)
