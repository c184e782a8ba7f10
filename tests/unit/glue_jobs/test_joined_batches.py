"""What goes to Spark goes in few batches, and in order."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glue_jobs.parse_lane.results.output_batches import JoinedBatches, OutputBatches, OutputRecord

SMALL_BYTES_MAX = 4_000


def batch_of(*values: bytes) -> pa.RecordBatch:
    gathered = OutputBatches()
    for value in values:
        gathered.add(OutputRecord("canonical.gps", b"key", value, [("content-type", b"json")]))
    return gathered.taken()


def joined(batches: list[pa.RecordBatch], small_bytes_max: int) -> list[pa.RecordBatch]:
    joining = JoinedBatches(small_bytes_max=small_bytes_max)
    return [*(one for batch in batches for one in joining.add(batch)), *joining.taken()]


@given(st.lists(st.lists(st.binary(max_size=2_000), min_size=1, max_size=4), max_size=20))
def test_all_records_come_out_in_order_and_as_they_were(values: list[list[bytes]]) -> None:
    batches = [batch_of(*some) for some in values]

    out = joined(batches, SMALL_BYTES_MAX)

    for batch in out:
        batch.validate(full=True)
    rows = [row for batch in out for row in batch.to_pylist()]
    assert rows == [row for batch in batches for row in batch.to_pylist()]


def test_small_batches_become_one() -> None:
    out = joined([batch_of(b"1"), batch_of(b"2", b"3"), batch_of(b"4")], SMALL_BYTES_MAX)

    assert [len(batch) for batch in out] == [4]


@pytest.mark.parametrize("small_bytes_max", [0, 100])
def test_a_batch_over_the_limit_stays_as_it_is(small_bytes_max: int) -> None:
    batches = [batch_of(bytes(200)), batch_of(bytes(300))]

    out = joined(batches, small_bytes_max)

    assert all(one is other for one, other in zip(out, batches, strict=True))


def test_no_batch_that_is_joined_gets_larger_than_the_limit() -> None:
    out = joined([batch_of(bytes(900)) for _ in range(20)], SMALL_BYTES_MAX)

    assert max(batch.nbytes for batch in out) <= SMALL_BYTES_MAX
    assert len(out) < 10
