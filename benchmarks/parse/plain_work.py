"""What the job does with a message, in a plain loop: no sandbox, no limits, no second try.

Each contender but the job itself calls this. It is made of the job's own functions, so that all
write the same bytes.
"""

import time
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from benchmarks.parse.workload import PARSER, flow, parser
from fleetlane.events.canonical import message_prefix
from fleetlane.events.envelope import Header
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.flows.event_ids import event_ids
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.events.topics import FLEET_PARSED
from fleetlane.parsers.sandbox.budgets import NO_END_BYTES
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecord, Columns
from fleetlane.parsers.sandbox.child.encoding import Encoder
from fleetlane.parsers.sandbox.runs import Assignment, envelope_of


class Position(NamedTuple):
    """A raw record's topic, partition and offset."""

    topic: str
    partition: int
    offset: int


@cache
def work_with(loops: int) -> "PlainWork":
    """The work of this process: a row UDF has nowhere else to keep it."""
    return PlainWork(loops=loops)


class PlainWork:
    """Makes records of messages, one by one."""

    def __init__(self, *, loops: int) -> None:
        one = flow(loops)
        self._assignment = Assignment(flow=one, parser=PARSER, parse_s=1.0)
        self._parser = parser(loops)

    def records_of(
        self, headers: Sequence[Header], body: bytes | None, position: Position
    ) -> list[CanonicalRecord]:
        """The canonical records of a message, and last its row for ``fleet.parsed``."""
        message = message_from(headers, body)
        assignment, columns = self._assignment, Columns()
        encoder = Encoder(assignment, self._parser, columns, left_bytes=NO_END_BYTES)
        began_ns = time.perf_counter_ns()
        encoder.encode(envelope_of(message), message.body or b"")
        prefix = message_prefix(message, parser=PARSER)
        id_of = event_ids(message, assignment.flow.identity)
        records = [
            one._replace(value=b'%b,"id":"%b",%b' % (prefix, id_of({}).encode(), one.value))
            for one in columns.taken(assignment.topics)
        ]
        row = Parsed(
            id=message.raw_id,
            attempt=message.attempt,
            device_id=message.device_id,
            stream=message.stream,
            lane=Lane.STANDARD,
            source_topic=position.topic,
            source_partition=position.partition,
            source_offset=position.offset,
            outcome=Outcome.PARSED if records else Outcome.EMPTY,
            parser=PARSER,
            events=len(records),
            parse_us=(time.perf_counter_ns() - began_ns) // 1000,
            inflated_bytes=message.body_bytes,
            first_event_ms=encoder.span_ms[0],
            last_event_ms=encoder.span_ms[1],
            parsed_ms=time.time_ns() // 1_000_000,
        )
        key = message.device_id.encode()
        records.append(CanonicalRecord(FLEET_PARSED, key, parsed_value(row)))
        return records
