"""Chunks as they are written and read, from lists and from columns as Arrow has them."""

import resource
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.sandbox.canonical_records import BytesColumn, fitting
from fleetlane.parsers.sandbox.packets import chunk_buffers, messages_of
from fleetlane.parsers.sandbox.worker.chunks import SLOT_BYTES, SLOTS, Slots
from tests.unit.parsers.sandbox.conftest import program, run_of

STRINGS = st.lists(st.binary(max_size=40), min_size=1, max_size=20)


def column_of(strings: Sequence[bytes], *, before: bytes = b"") -> BytesColumn:
    """A column whose buffer begins with other bytes, as a slice of Arrow's does."""
    ends = array("i", accumulate(map(len, strings), initial=len(before)))
    return BytesColumn(memoryview(ends), memoryview(before + b"".join(strings) + b"after"))


@given(STRINGS, st.binary(max_size=9), st.data())
def test_a_column_s_messages_are_read_back_as_those_of_a_list(
    strings: list[bytes], before: bytes, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(strings) - 1))
    count = data.draw(st.integers(1, len(strings) - first))
    envelopes = [b"%d" % len(string) for string in strings]

    chunks = [
        b"".join(chunk_buffers(b"all", envelopes, strings, {})),
        b"".join(
            chunk_buffers(
                b"all", column_of(envelopes, before=before), column_of(strings, before=before), {}
            )
        ),
    ]

    for chunk in chunks:
        messages = messages_of(before + chunk, len(before), first, count)
        assert messages.assignment == b"all"
        pairs = zip(envelopes, strings, strict=True)
        assert list(messages.pairs) == list(pairs)[first : first + count]


@given(STRINGS, st.data())
def test_a_column_is_a_sequence_like_its_list(strings: list[bytes], data: st.DataObject) -> None:
    first, last = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 20))

    column = column_of(strings, before=b"before")

    assert list(column) == [column[place] for place in range(len(column))] == strings
    assert list(column[first:last]) == strings[first:last]


@given(STRINGS, st.integers(1, 8), st.integers(0, 60), st.data())
def test_as_many_fit_of_a_column_as_of_its_list(
    strings: list[bytes], count_max: int, bytes_max: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(strings) - 1))

    count = fitting(strings, first, count_max, bytes_max)

    assert count == fitting(column_of(strings, before=b"x"), first, count_max, bytes_max)
    assert 1 <= count <= count_max
    assert count == 1 or sum(map(len, strings[first : first + count])) <= bytes_max


@contextmanager
def without_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_slot_is_lost_where_the_system_refuses_memory_for_a_large_chunk() -> None:
    run, slots = run_of(program("any==1.0", None), [bytes(SLOT_BYTES + 1)]), Slots()
    with closing(slots.memory):
        for _ in range(SLOTS):
            with pytest.raises(OSError, match="Too many open files"), without_descriptors():
                slots.written(run, 0, 1)

        assert slots.has_free
