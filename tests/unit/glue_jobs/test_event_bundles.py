"""Records travel in bundles: each comes out as it went in, and equal events meet in one bucket."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glue_jobs.deduplicate.bundles import BUCKETS, DIGEST, bundled, unbundled, without_repeats

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema(
    [
        *(("key", pa.binary()), ("value", pa.binary()), ("headers", pa.list_(HEADER))),
        *(("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())),
        ("timestamp", pa.timestamp("ms")),
    ]
)

headers = st.none() | st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}),
    max_size=3,
)
records = st.lists(
    st.tuples(st.none() | st.binary(max_size=5), st.none() | st.binary(max_size=5), headers),
    max_size=200,
)


def event(number: int, *, revision: int = 0, parser: str = "json@1", more: str = "") -> bytes:
    return (
        f'{{"id":"{number}","revision":{revision},"parser":"{parser}","more":"{more}"}}'
    ).encode()


def batch(rows: Iterable[tuple[object, object, object]], *, at_ms: int = 0) -> pa.RecordBatch:
    found = [
        dict(zip(SCHEMA.names, (*row, "canonical.x", 0, n, at_ms), strict=True))
        for n, row in enumerate(rows)
    ]
    return pa.RecordBatch.from_pylist(found, schema=SCHEMA)


def digests_of(values: Sequence[bytes | None], *, at_ms: int = 0) -> list[tuple[int, bytes]]:
    """The bucket and the digest of each, in order of the bundles."""
    rows = batch(((None, value, None) for value in values), at_ms=at_ms)
    return [
        (bundle["bucket"], digest.tobytes())
        for one in bundled([rows])
        for bundle in one.to_pylist()
        for digest in np.frombuffer(bundle["digests"], DIGEST)
    ]


@given(records)
def test_each_record_comes_out_as_it_went_in(rows: list[tuple[object, object, object]]) -> None:
    sent = batch(rows)

    found = [one for out in unbundled(bundled([sent])) for one in out.to_pylist()]

    expected = sent.select(["key", "value", "headers"]).to_pylist()
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_a_bucket_has_one_bundle_of_a_batch_and_buckets_have_about_as_much() -> None:
    (bundles,) = bundled([batch((b"k", event(n), None) for n in range(10_000))])
    sizes = [len(one.as_py()) // DIGEST.itemsize for one in bundles.column("digests")]

    assert bundles.column("bucket").to_pylist() == [*range(BUCKETS)]
    assert sum(sizes) == 10_000
    assert max(sizes) < 2 * min(sizes)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (event(1), event(1, more="in other bytes"), True),
        (event(1), event(2), False),
        (event(1), event(1, revision=1), False),
        (event(1), event(1, parser="json@2"), False),
        (b"no event", b"no event", False),
        (None, None, False),
        (b'{"id":1}', b'{"id":1}', False),
        (b'{"id":"\\ud800","revision":0,"parser":"x"}', event(1), False),
    ],
)
def test_two_records_are_the_same_event_by_id_revision_and_parser(
    one: bytes | None, other: bytes | None, *, is_same: bool
) -> None:
    assert len({*digests_of([one, other])}) == 2 - is_same


def test_what_is_no_event_is_another_record_in_a_topic_that_was_made_anew() -> None:
    assert digests_of([b"no event"]) != digests_of([b"no event"], at_ms=1)


def test_what_is_left_of_a_bundle_is_what_was_new() -> None:
    rows = [(b"k", event(1), [{"key": "x", "value": None}])] * 3
    (bundles,) = bundled([batch(rows)])
    records = bundles.column("records")[0].as_py()

    left = without_repeats(records, np.array([True, False, False]))

    (found,) = unbundled([pa.record_batch({"records": [left]})])
    assert found.to_pylist() == [
        {"key": b"k", "value": event(1), "headers": [{"key": "x", "value": None}]}
    ]
