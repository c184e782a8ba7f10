"""Messages are reported by column as they are one by one."""

import re
from collections.abc import Callable

import pyarrow as pa
import pytest

from fleetlane.events.lanes import Lane
from glue_jobs.parse_lane.lane_parser import LaneParser
from tests.unit.glue_jobs.conftest import ARRIVAL_MILLIS, message_of, raw_batch, record_of, rows_of

BODIES = [
    b'[{"at": %d}, {"at": %d}]' % (ARRIVAL_MILLIS, ARRIVAL_MILLIS - 5),
    b'{"lat": 1.5}',
    b"[]",
]


def told(parser: LaneParser, body: bytes, *headers: tuple[str, bytes]) -> tuple[bytes, bytes]:
    record = record_of(message_of(body, attempt=3, device_type="tank"))
    record = record._replace(headers=[*record.headers, *headers])
    *_, row = rows_of(parser.outputs_of(raw_batch([record])))
    return row.key or b"", re.sub(rb'"parse_us":[0-9]+', b"", row.value or b"")


@pytest.mark.parametrize("body", BODIES, ids=["parsed", "without-time", "empty"])
def test_a_fast_path_message_is_reported_as_one_with_an_unknown_header(
    lane_parser: Callable[[Lane], LaneParser], body: bytes
) -> None:
    parser = lane_parser(Lane.STANDARD)

    plain, odd = told(parser, body), told(parser, body, ("x-new", b"1"))

    assert plain == odd


def test_what_is_reported_is_a_sound_batch(lane_parser: Callable[[Lane], LaneParser]) -> None:
    parser = lane_parser(Lane.STANDARD)
    parser.by_column_min = 1

    _, batch = parser.outputs_of(raw_batch([record_of(message_of(BODIES[0]))]))

    assert isinstance(batch, pa.RecordBatch)
    batch.validate(full=True)
    (row,) = batch.to_pylist()
    assert (row["topic"], row["key"], row["headers"]) == ("fleet.parsed", b"d-17", None)


def test_fast_path_and_slow_path_messages_of_a_flow_keep_their_order(
    lane_parser: Callable[[Lane], LaneParser],
) -> None:
    records = [
        record_of(message_of(b'{"n": %d}' % number, raw_id=f"1{number:032x}"))
        for number in range(20)
    ]
    records = [
        record._replace(headers=[*record.headers, ("x-new", b"1")]) if number % 3 == 0 else record
        for number, record in enumerate(records)
    ]

    rows = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch(records)))

    values = [row.value or b"" for row in rows if row.topic == "canonical.gps"]
    assert [int(re.findall(rb'"n":([0-9]+)', value)[0]) for value in values] == list(range(20))
