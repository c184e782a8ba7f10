"""A record of ``fleet.parsed``, as a reader of Kafka gives it."""

from copy import replace
from typing import Any, Final

from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.events.topics import FLEET_PARSED

PARSED: Final = Parsed(
    id="1" + "ab" * 16,
    attempt=1,
    device_id="d-1",
    stream="thermo",
    lane=Lane.STANDARD,
    source_topic="raw.standard",
    source_partition=0,
    source_offset=0,
    outcome=Outcome.PARSED,
    parsed_ms=0,
)


def parsed_record(**changes: Any) -> Record:
    """The row ``PARSED``, changed, in its record."""
    return Record(
        topic=FLEET_PARSED,
        partition=0,
        offset=0,
        timestamp_ms=0,
        key=None,
        value=parsed_value(replace(PARSED, **changes)),
        headers=(),
    )
