import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.testkit.contract_checks import mutated


@given(sample=st.binary(max_size=300))
def test_the_same_sample_is_always_spoilt_in_the_same_ways(sample: bytes) -> None:
    assert list(mutated(sample)) == list(mutated(sample))


@given(sample=st.binary(min_size=1, max_size=7))
def test_every_bit_of_a_short_sample_is_flipped(sample: bytes) -> None:
    flipped = {bytes(one) for one in mutated(sample)}

    whole = int.from_bytes(sample)
    bits = {(whole ^ 1 << bit).to_bytes(len(sample)) for bit in range(len(sample) * 8)}
    assert bits <= flipped


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_a_sample_of_any_size_is_spoilt_in_a_few_hundred_ways(size: int) -> None:
    count = len(list(mutated(bytes(size))))

    assert count <= 160 + 60 + 1 + 4 * 30
