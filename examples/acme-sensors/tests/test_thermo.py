"""The tests that come with a parser: known messages, malformed ones, and any bytes at all."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acme_sensors.thermo import AcmeThermo
from fleetlane.parsers.contract import MalformedMessage

quick = settings(max_examples=100, deadline=None)


def test_each_six_bytes_are_a_reading() -> None:
    message = struct.pack("<IhIh", 1_762_178_706, 2150, 1_762_178_707, -40)

    found = list(AcmeThermo(celsius_per_count=0.5).parse(message))

    assert found == [
        {"measured_at": 1_762_178_706, "celsius": 1075.0},
        {"measured_at": 1_762_178_707, "celsius": -20.0},
    ]


def test_a_cut_reading_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="7 bytes; readings are 6 bytes each"):
        list(AcmeThermo().parse(bytes(7)))


@quick
@given(message=st.binary(max_size=60))
def test_any_bytes_give_events_or_malformed(message: bytes) -> None:
    try:
        found = list(AcmeThermo().parse(message))
    except MalformedMessage:
        return

    assert len(found) == len(message) / 6
