"""How long messages waited for their parsing."""

from collections.abc import Sequence

from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from operations.lanes.tally import Delays, MeasuredSource
from tests.unit.operations.parsed_record import parsed_record


def parsed(
    at_ms: int, waited_ms: int, *, device_id: str = "d-1", lane: Lane = Lane.STANDARD
) -> Record:
    return parsed_record(
        device_id=device_id, lane=lane, received_ms=at_ms, parsed_ms=at_ms + waited_ms
    )


class FakeReader:
    """Gives these records, all at once."""

    def __init__(self, *records: Record) -> None:
        self._records = records

    def read_available(self) -> Sequence[Record]:
        return self._records


def test_a_span_of_time_has_the_waits_of_what_arrived_in_it() -> None:
    records = [parsed(at_ms, waited_ms=10 * at_ms) for at_ms in range(100)]
    source = MeasuredSource(FakeReader(*records), excluded=[])
    source.read_available()

    found = source.between(0, 50)

    assert found == Delays(messages=50, p50_s=0.24, p95_s=0.47)


def test_who_is_set_apart_and_other_lanes_do_not_count() -> None:
    reader = FakeReader(parsed(1, 5, device_id="runaway-1"), parsed(1, 5, lane=Lane.SLOW))
    source = MeasuredSource(reader, excluded=["runaway-1"])

    source.read_available()

    assert source.between(0, 50) is None


def test_delays_are_reported_in_seconds() -> None:
    assert str(Delays(messages=1_200, p50_s=0.24, p95_s=1.5)) == (
        "p50 0.2 s, p95 1.5 s (1,200 messages)"
    )
