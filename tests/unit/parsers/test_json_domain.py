import pytest

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import integer_of_64_bits


@pytest.mark.parametrize("number", [-(2**63), 0, 2**64 - 1])
def test_an_integer_of_64_bits_is_itself(number: int) -> None:
    found = integer_of_64_bits(number)

    assert found == number


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**64])
def test_an_integer_beyond_64_bits_is_malformed(number: int) -> None:
    with pytest.raises(MalformedMessage, match="beyond 64 bits"):
        integer_of_64_bits(number)
