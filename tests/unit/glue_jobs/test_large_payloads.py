"""Bodies beyond 64 MiB are for parsers that accept a buffer; others park them, as they are."""

from collections.abc import Iterator, Mapping

import pytest

from fleetlane.events.envelope import PayloadReference
from fleetlane.events.lanes import BUFFER_BYTES_MAX, LANE_LIMITS, PAYLOAD_BYTES_MAX, Lane
from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.parsers.contract import Parser
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.runs import Program
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.reading.payloads import Payloads
from tests.unit.glue_jobs.conftest import (
    FLOW,
    NOW_MS,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

SLOW = LANE_LIMITS[Lane.SLOW]
JSON = Program(
    use="json", options=b"{}", memory_bytes_max=SLOW.memory_bytes_max, niceness=SLOW.niceness
)


class Buffers:
    """Takes the place of a team's parser."""

    accepts_buffer = True

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        yield {"bytes": len(message)}


class Copies(Buffers):
    """The same that wants ``bytes``."""

    accepts_buffer = False


class LargeObjects(MemoryBucket):
    """Gives a body of any size that is asked for, of zeros."""

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        assert body_bytes <= bytes_max
        return bytes(body_bytes)

    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None: ...


def told_of(parser: Parser, body_bytes: int) -> Parsed:
    """What is reported of a message of so many bytes, by reference, with this parser."""
    bucket, parses = LargeObjects(), InProcess({JSON: parser})
    lane_parser = LaneParser(
        budgets=FlowBudgets(Lane.SLOW, SLOW),
        parsers=chosen_parsers(FixedFlows(FLOW), parses, SLOW),
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
        sandboxes=parses,
        now_ms=lambda: NOW_MS,
    )
    reference = PayloadReference(key="payloads/x", sha256="0" * 64)
    message = message_of(None, reference=reference, body_bytes=body_bytes)
    rows = rows_of(lane_parser.outputs_of(raw_batch([record_of(message, topic="raw.slow")])))
    (told,) = (parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed")
    return told


@pytest.mark.parametrize(
    ("parser", "body_bytes", "reason"),
    [
        (Copies(), PAYLOAD_BYTES_MAX, None),
        (Copies(), PAYLOAD_BYTES_MAX + 1, "too_large"),
        (Buffers(), PAYLOAD_BYTES_MAX + 1, None),
        (Buffers(), BUFFER_BYTES_MAX + 1, "too_large"),
    ],
    ids=["bytes", "too-large-for-bytes", "a-buffer", "too-large-for-a-buffer"],
)
def test_how_large_a_body_may_be_is_its_parsers_affair(
    parser: Parser, body_bytes: int, reason: str | None
) -> None:
    told = told_of(parser, body_bytes)

    assert (told.reason, told.events) == (reason, 1 if reason is None else 0)
