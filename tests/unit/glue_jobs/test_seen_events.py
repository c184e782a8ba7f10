"""Which events of a bucket are new: by segments of digests, as by a plain list of what came."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glue_jobs.deduplicate.bundles import DIGEST, unbundled
from glue_jobs.deduplicate.seen_events import PERIODS, Digests, LeaveOutRepeats, SeenEvents
from glue_jobs.kafka.source_and_sink import HEADERS

WINDOW_MS = 8_000
PERIOD_MS = WINDOW_MS // PERIODS


class KeptInMemory:
    """Spark's map state, without Spark."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int], tuple[object, ...]] = {}
        self.reads = 0

    def iterator(self) -> Iterator[tuple[tuple[int], tuple[object, ...]]]:
        yield from [*self.rows.items()]

    def getValue(self, key: tuple[int]) -> tuple[object, ...]:  # noqa: N802 - Spark's name
        self.reads += 1
        return self.rows[key]

    def updateValue(self, key: tuple[int], value: tuple[object, ...]) -> None:  # noqa: N802
        self.rows[key] = value

    def removeKey(self, key: tuple[int]) -> None:  # noqa: N802
        del self.rows[key]


class Bucket:
    """A bucket's events, numbered."""

    def __init__(self) -> None:
        self.prefixes, self.digests = KeptInMemory(), KeptInMemory()
        self.seen = SeenEvents(self.prefixes, self.digests, window_ms=WINDOW_MS)  # type: ignore[arg-type] # all that is called

    def new_among(self, numbers: Sequence[int], now_ms: int) -> list[int]:
        is_new = self.seen.new_among(digests(numbers), now_ms)
        return [number for number, one in zip(numbers, is_new, strict=True) if one]

    def sizes(self) -> list[int]:
        rows: Mapping[tuple[int], tuple[object, ...]] = self.digests.rows
        return [len(np.frombuffer(rows[key][0], DIGEST)) for key in sorted(rows)]  # type: ignore[call-overload] # bytes


def digests(numbers: Sequence[int]) -> Digests:
    """As if hashed; every third one shares its first 32 bits with others."""
    high = [(n * 0x9E3779B97F4A7C15 if n % 3 else 7 << 32 | n) % 2**64 for n in numbers]
    return np.array([*zip(high, numbers, strict=True)], DIGEST)


batches = st.lists(
    st.tuples(st.integers(0, 3 * WINDOW_MS // 10), st.lists(st.integers(0, 60), min_size=1)),
    min_size=1,
    max_size=60,
)


@given(batches)
def test_an_event_passes_once_a_window_and_again_no_later_than_a_period_after_it(
    batches: Sequence[tuple[int, Sequence[int]]],
) -> None:
    bucket, passed_ms, now_ms = Bucket(), dict[int, int](), 1_000_000
    for after_ms, numbers in batches:
        now_ms += after_ms
        new = bucket.new_among(numbers, now_ms)

        assert len(set(new)) == len(new)
        for number in set(numbers):
            age_ms = now_ms - passed_ms.get(number, -(10**9))
            assert number in new or age_ms <= WINDOW_MS + PERIOD_MS
            assert number not in new or age_ms > WINDOW_MS
        passed_ms |= dict.fromkeys(new, now_ms)


def test_of_events_that_come_in_one_batch_the_first_passes() -> None:
    is_new = Bucket().seen.new_among(digests([5, 4, 5, 4, 6]), 1_000_000)

    assert is_new.tolist() == [True, True, False, False, True]


def test_batches_of_a_whole_window_are_few_segments() -> None:
    bucket = Bucket()
    most = 0
    for batch in range(WINDOW_MS // 10):
        bucket.new_among(range(10 * batch, 10 * batch + 10), 1_000_000 + 10 * batch)
        most = max(most, len(bucket.sizes()))

    assert sum(bucket.sizes()) == WINDOW_MS
    assert most <= PERIODS + 10


def test_whole_digests_are_not_read_for_events_that_never_came() -> None:
    bucket = Bucket()
    bucket.new_among([n for n in range(5_000) if n % 3], 1_000_000)
    bucket.new_among([n for n in range(5_000, 5_500) if n % 3], 1_000_000 + PERIOD_MS)

    assert bucket.digests.reads == 0


def test_a_clock_that_is_set_back_lets_no_event_pass_twice() -> None:
    bucket = Bucket()
    bucket.new_among([1], 1_000_000)

    assert bucket.new_among([1, 2], 900_000) == [2]
    assert bucket.new_among([1, 2], 900_000) == []


@pytest.mark.parametrize("later_ms", [WINDOW_MS + PERIOD_MS + 1, 100 * WINDOW_MS])
def test_what_the_window_left_behind_is_removed(later_ms: int) -> None:
    bucket = Bucket()
    bucket.new_among(range(100), 1_000_000)
    bucket.new_among([200], 1_000_000 + later_ms)

    assert bucket.sizes() == [1]
    assert bucket.prefixes.rows.keys() == bucket.digests.rows.keys()


class NowMs(int):
    def getCurrentProcessingTimeInMs(self) -> int:  # noqa: N802 - Spark's name
        return int(self)


def frame(numbers: Sequence[int]) -> pd.DataFrame:
    """A bundle of events, whose records have the numbers as their values."""
    fields = [("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)]
    rows = [{"value": b"%d" % number} for number in numbers]
    records = pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))
    bundle = {"digests": digests(numbers).tobytes(), "records": records.serialize().to_pybytes()}
    return pd.DataFrame([bundle])


def test_a_bucket_that_comes_in_several_frames_is_answered_frame_by_frame() -> None:
    repeats = LeaveOutRepeats(WINDOW_MS)
    repeats._seen = Bucket().seen
    frames = map(frame, ([1, 2, 2], [2, 3], [3, 1]))

    found = list(repeats.handleInputRows((0,), frames, NowMs(1_000_000)))  # type: ignore[arg-type] # all that is called

    passed = [[row["value"] for row in unbundled_rows(one["records"].tolist())] for one in found]
    assert passed == [[b"1", b"2"], [b"3"], []]


def unbundled_rows(bundles: Sequence[bytes]) -> list[Mapping[str, object]]:
    return [
        row
        for one in unbundled([pa.record_batch({"records": pa.array(bundles, pa.binary())})])
        for row in one.to_pylist()
    ]
