"""Files of Avro: blocks of records behind their schema."""

import io
import json
import tracemalloc
import zlib
from collections.abc import Mapping, Sequence

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.parser import INFLATED_BYTES_MAX, Avro
from tests.unit.parsers.avro_schemas import ANY, POINT, quick

SYNC = b"0123456789abcdef"


def container(schema: object, records: Sequence[object], codec: str = "null") -> bytes:
    file = io.BytesIO()
    parsed = fastavro.parse_schema(schema)  # type: ignore[arg-type]
    fastavro.writer(file, parsed, records, codec=codec, sync_interval=40)
    return file.getvalue()


def handmade(*blocks: bytes, metadata: Mapping[bytes, bytes], sync: bytes = SYNC) -> bytes:
    entries = b"".join(_long(len(part)) + part for entry in metadata.items() for part in entry)
    return b"Obj\1" + _long(len(metadata)) + entries + b"\0" + sync + b"".join(blocks)


def block(count: int, octets: bytes, size: int | None = None, sync: bytes = SYNC) -> bytes:
    return _long(count) + _long(len(octets) if size is None else size) + octets + sync


def _long(number: int) -> bytes:
    number, octets = (number << 1) ^ (number >> 63), bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def deflated(octets: bytes) -> bytes:
    return zlib.compress(octets, wbits=-zlib.MAX_WBITS)


PLAIN = {b"avro.schema": json.dumps(POINT).encode()}
DEFLATE = {**PLAIN, b"avro.codec": b"deflate"}


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_container_s_records_are_events(codec: str) -> None:
    records = [{"x": number} for number in range(-100, 100)]

    found = list(Avro().parse(container(POINT, records, codec)))

    assert found == records


def test_a_container_without_blocks_has_no_events() -> None:
    found = list(Avro().parse(handmade(metadata=PLAIN)))

    assert found == []


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "starts with nothing"),
        (b"Obj\2", "starts with 4f626a02; a file with 4f626a01"),
        (b"Obj\1", "ends in the middle"),
        (handmade(metadata=PLAIN)[:-1], "ends in the middle"),
        (handmade(metadata={}), "has no avro.schema"),
        (handmade(metadata={b"avro.schema": b"{"}), "the file's schema: not JSON"),
        (handmade(metadata={b"avro.schema": b'"nope"'}), "the file's schema: no schema of Avro"),
        (handmade(metadata={b"avro.schema": b" " * 65_537}), "the limit is 65536"),
        (handmade(metadata={b"avro.schema": b"[" * 1000}), "the file's schema: "),
        (handmade(metadata={**PLAIN, b"avro.codec": b"snappy"}), "codec b'snappy'; allowed: null"),
        (handmade(block(1, b"\2"), metadata=PLAIN)[:-1], "ends in the middle"),
        (handmade(block(1, b"\2", sync=SYNC[::-1]), metadata=PLAIN), "sync marker"),
        (handmade(block(1, b"\2\2"), metadata=PLAIN), "1 bytes after the last record"),
        (handmade(block(2, b"\2"), metadata=PLAIN), "claims 2 records in 1 bytes"),
        (handmade(block(2**62, b"\2"), metadata=PLAIN), "claims 4611686018427387904 records"),
        (handmade(block(-1, b"\2"), metadata=PLAIN), "claims -1 records"),
        (handmade(block(1, b"\2", size=2**40), metadata=PLAIN), "ends in the middle"),
        (handmade(block(1, b"\2", size=-1), metadata=PLAIN), "a length of -1"),
        (handmade(block(1, b"\xff\xff"), metadata=DEFLATE), "a block cannot be inflated"),
        (handmade(block(1, deflated(b"\2")[:-1]), metadata=DEFLATE), "cut short"),
        (handmade(block(1, deflated(b"\2") + b"12345"), metadata=DEFLATE), "go on after their end"),
    ],
)
def test_what_is_no_container_file_is_malformed(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Avro().parse(message))

    assert why in str(refusal.value)


def test_a_repeated_key_of_the_metadata_is_malformed() -> None:
    message = b"Obj\1" + bytes.fromhex("04 0261 0262 0261 0263 00") + SYNC

    with pytest.raises(MalformedMessage, match="key b'a' is repeated"):
        list(Avro().parse(message))


def test_a_bomb_is_refused_within_its_cap() -> None:
    bomb = deflated(bytes(INFLATED_BYTES_MAX + 1))
    tracemalloc.start()

    with pytest.raises(MalformedMessage, match="inflate to over 67108864 bytes together"):
        list(Avro().parse(handmade(block(1, bomb), metadata=DEFLATE)))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 3 * INFLATED_BYTES_MAX


_FILE = container(json.loads(ANY), [], "deflate")


@quick
@given(data=st.data())
def test_any_bytes_of_a_file_give_events_or_malformed(data: st.DataObject) -> None:
    message = bytearray(_FILE + data.draw(st.binary(max_size=40)))
    for at in data.draw(st.lists(st.integers(0, len(message) - 1), max_size=4)):
        message[at] = data.draw(st.integers(0, 255))

    try:
        found = list(Avro().parse(bytes(message)))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)
