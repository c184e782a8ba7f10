"""The tests that come with a parser: known messages, malformed ones, and any bytes at all."""

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acme_sensors.vibration import AcmeVibration
from fleetlane.parsers.contract import MalformedMessage

quick = settings(max_examples=100, deadline=None)


def trace(samples: Sequence[int], passes: int = 0) -> bytes:
    header = struct.pack("<4sIIH", b"VIB1", 1_762_178_706, passes, len(samples))
    return header + struct.pack(f"<{len(samples)}h", *samples)


def test_a_trace_is_one_event() -> None:
    message = trace([3, -4])

    found = list(AcmeVibration().parse(message))

    assert found == [{"measured_at": 1_762_178_706, "rms": 12.5**0.5, "peak": 4, "samples": 2}]


def test_each_pass_smooths_the_trace_once_more() -> None:
    message = trace([0, 9, 0], passes=2)

    (event,) = AcmeVibration().parse(message)

    assert event["peak"] == 3.0


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"VIB1", "4 bytes; the header alone has 14"),
        (b"VIB2" + trace([1])[4:], "starts with b'VIB2'"),
        (trace([1, 2])[:-1], "17 bytes; 2 samples need 18 bytes"),
        (trace([1, 2]) + b"\0", "19 bytes; 2 samples need 18 bytes"),
        (trace([]), "0 samples"),
    ],
)
def test_what_is_no_trace_is_malformed(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(AcmeVibration().parse(message))

    assert why in str(refusal.value)


@quick
@given(
    message=st.binary(max_size=40)
    | st.builds(trace, st.lists(st.integers(-(2**15), 2**15 - 1), max_size=20), st.integers(0, 9))
)
def test_any_bytes_give_an_event_or_malformed(message: bytes) -> None:
    if message.startswith(b"VIB1"):
        message = message[:8] + bytes([9, 0, 0, 0]) + message[12:]  # nine passes: enough here

    try:
        found = list(AcmeVibration().parse(message))
    except MalformedMessage:
        return

    assert len(found) == 1
