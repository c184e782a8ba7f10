"""Nothing but events or MalformedMessage comes out of a format; see --faults=full."""

import gzip
import math
import zlib

import cbor2
import msgpack  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.body_encoding import BodyTooLargeError, decoded_body
from fleetlane.parsers.contract import MalformedMessage, Parser
from fleetlane.parsers.formats.cbor import Cbor
from fleetlane.parsers.formats.lines import Lines
from fleetlane.parsers.formats.msgpack import Msgpack
from fleetlane.parsers.formats.senml import Senml
from fleetlane.parsers.json_values import DEPTH_MAX, INTEGER_MAX, INTEGER_MIN

READINGS = [{"t": 1.5, "serial": "s1", "ok": True, "raw": b"\xff\0", "more": {"a": [1, None]}}]
CBOR_ITEMS = [
    cbor2.dumps(READINGS),
    cbor2.dumps(READINGS, indefinite_containers=True),
    bytes.fromhex("a261310161320203"),
    bytes.fromhex("a16178c11a514b67b0"),
    bytes.fromhex("a16178c249010000000000000000"),
    bytes.fromhex("d81c81d81d00"),
    bytes.fromhex("d9010082616161d81900"),
    bytes.fromhex("a16178c482f97e0001"),
    bytes.fromhex("a1d8236128f7"),
]
MSGPACK_OBJECTS = [
    msgpack.packb(READINGS),
    msgpack.packb({"at": msgpack.Timestamp(1_700_000_000, 5), "x": msgpack.ExtType(5, b"abc")}),
    bytes.fromhex("820102a13103"),
    bytes.fromhex("81910102"),
    bytes.fromhex("ddffffffff"),
]
PACKS = [
    b'[{"bn":"a","bt":1e9,"bu":"V","bv":2,"bs":1,"bver":5,"v":1},{"n":"b","t":5,"vs":"x"}]',
    b'[{"n":"a","vb":true,"ut":1},{"n":"b","vd":"AQ"},{"n":"c","s":1e308,"bs":1e308}]',
]
LINES = [b"21.5 oven\n-3 box\r\n", b"\xef\xbb\xbf1 a", b"1e400 a\n", b"a\0b"]
FORMATS: dict[str, tuple[Parser, list[bytes]]] = {
    "cbor": (Cbor(), CBOR_ITEMS),
    "cbor, lenient": (Cbor(integer_keys=True, tags_ignored=(4, 25, 28, 29, 256)), CBOR_ITEMS),
    "msgpack": (Msgpack(), MSGPACK_OBJECTS),
    "msgpack, lenient": (Msgpack(integer_keys=True, bytes_as="hex"), MSGPACK_OBJECTS),
    "senml": (Senml(), PACKS),
    "lines": (Lines(pattern=r"(?P<a>\S+) (?P<b>.*)", types={"a": "float"}), LINES),
}
ENCODED = {
    "gzip": gzip.compress(b"abc" * 99, mtime=0),
    "deflate": zlib.compress(b"abc" * 99),
    "zstd": zstd.compress(b"abc" * 99),
}


@st.composite
def mutated(draw: st.DrawFn, samples: list[bytes]) -> bytes:
    """A sample cut, doubled, joined with another, or with a few bytes changed; or no sample."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=80))
    sample = bytearray(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(sample)))
        end = draw(st.integers(start, min(len(sample), start + 4)))
        sample[start:end] = draw(st.binary(max_size=4))
    end = draw(st.integers(0, len(sample)))
    return bytes(sample[:end] if draw(st.booleans()) else sample + draw(st.sampled_from(samples)))


def is_json(value: object, levels_left: int = DEPTH_MAX) -> bool:
    if isinstance(value, bool | str) or value is None:
        return True
    if isinstance(value, int):
        return INTEGER_MIN <= value <= INTEGER_MAX
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return levels_left > 0 and all(is_json(element, levels_left - 1) for element in value)
    if not isinstance(value, dict):
        return False
    return levels_left > 0 and all(
        isinstance(key, str) and is_json(member, levels_left - 1) for key, member in value.items()
    )


@pytest.mark.faults
@pytest.mark.parametrize(("parser", "samples"), FORMATS.values(), ids=FORMATS)
@given(data=st.data())
def test_any_bytes_give_events_or_malformed(
    parser: Parser, samples: list[bytes], data: st.DataObject
) -> None:
    message = data.draw(mutated(samples))

    try:
        events = list(parser.parse(message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) and is_json(event) for event in events)


@pytest.mark.faults
@pytest.mark.parametrize("encoding", ENCODED)
@given(data=st.data(), bytes_max=st.integers(0, 600))
def test_any_bytes_give_a_body_within_the_limit_or_a_refusal(
    encoding: str, data: st.DataObject, bytes_max: int
) -> None:
    encoded = data.draw(mutated([ENCODED[encoding]]))

    try:
        body = decoded_body(encoded, encoding, bytes_max=bytes_max)
    except (MalformedMessage, BodyTooLargeError):
        return

    assert len(body) <= bytes_max
