import io
import json
import tracemalloc
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.parser import INFLATED_BYTES_MAX, Avro
from fleetlane.parsers.registry import ParserOptionError, load_parser

quick = settings(max_examples=150, deadline=None)

FRAME = b"\0\0\0\0\7"
SYNC = b"0123456789abcdef"
POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
LIST = {"type": "record", "name": "List", "fields": [{"name": "next", "type": ["null", "List"]}]}
ENDLESS = {"type": "record", "name": "Endless", "fields": [{"name": "next", "type": "Endless"}]}
NULLS = {"type": "array", "items": "null"}


def field_of(schema: object) -> str:
    """A record's schema, with one field."""
    fields = [{"name": "f", "type": schema}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def value_of(schema: object, octets: bytes) -> object:
    (event,) = Avro(schemas={"7": field_of(schema)}).parse(FRAME + octets)
    return event["f"]


def logical(kind: str, name: str, **more: object) -> Mapping[str, object]:
    return {"type": kind, "logicalType": name, **more}


def fixed(size: int, **more: object) -> Mapping[str, object]:
    return {"type": "fixed", "name": "F", "size": size, **more}


ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B", "C", "D"]}
TEST = {
    "type": "record",
    "name": "test",
    "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
}

# The specification's table of variable-length integers and its examples, then every other type.
EVERY_TYPE: Sequence[tuple[object, str, object]] = [
    ("int", "00", 0),
    ("int", "01", -1),
    ("int", "02", 1),
    ("int", "03", -2),
    ("int", "04", 2),
    ("int", "7f", -64),
    ("int", "8001", 64),
    ("string", "06666f6f", "foo"),
    (TEST, "3606666f6f", {"a": 27, "b": "foo"}),
    ({"type": "array", "items": "long"}, "04063600", [3, 27]),
    (["null", "string"], "00", None),
    (["null", "string"], "020261", "a"),
    (ENUM, "06", "D"),
    ("null", "", None),
    ("boolean", "00", False),
    ("boolean", "01", True),
    ("int", "feffffff0f", 2**31 - 1),
    ("int", "ffffffff0f", -(2**31)),
    ("long", "feffffffffffffffff01", 2**63 - 1),
    ("long", "ffffffffffffffffff01", -(2**63)),
    ("float", "0000c03f", 1.5),
    ("double", "000000000000f83f", 1.5),
    ("bytes", "0400ff", "AP8"),
    ("string", "00", ""),
    ({"type": "string"}, "04c3a9", "é"),
    (fixed(2), "00ff", "AP8"),
    (fixed(0), "", ""),
    ({"type": "array", "items": "long"}, "00", []),
    ({"type": "array", "items": "long"}, "0202020400", [1, 2]),
    ({"type": "array", "items": "long"}, "0304063600", [3, 27]),
    ({"type": "map", "values": "int"}, "0202610200", {"a": 1}),
    ({"type": "map", "values": "int"}, "010602610202026204 00", {"a": 1, "b": 2}),
    (NULLS, "0600", [None, None, None]),
    (LIST, "020200", {"next": {"next": {"next": None}}}),
    (logical("int", "date"), "00", "1970-01-01"),
    (logical("int", "date"), "01", "1969-12-31"),
    (logical("int", "time-millis"), "feefb252", "23:59:59.999"),
    (logical("int", "time-millis"), "f02e", "00:00:03.000"),
    (logical("long", "time-micros"), "02", "00:00:00.000001"),
    (logical("long", "timestamp-millis"), "868ad39bb468", "2026-11-03T14:05:09.123Z"),
    (logical("long", "timestamp-millis"), "01", "1969-12-31T23:59:59.999Z"),
    (logical("long", "timestamp-micros"), "02", "1970-01-01T00:00:00.000001Z"),
    (logical("long", "timestamp-nanos"), "01", "1969-12-31T23:59:59.999999999Z"),
    (logical("long", "local-timestamp-millis"), "d00f", "1970-01-01T00:00:01.000"),
    (logical("long", "local-timestamp-micros"), "02", "1970-01-01T00:00:00.000001"),
    (logical("bytes", "decimal", precision=4, scale=2), "0404d2", "12.34"),
    (logical("bytes", "decimal", precision=4, scale=2), "02ff", "-0.01"),
    (logical("bytes", "decimal", precision=4), "02 7b", "123"),
    (logical("bytes", "decimal", precision=4, scale=2), "00", "0.00"),
    (fixed(2, logicalType="decimal", precision=4, scale=3), "fb2e", "-1.234"),
    (
        fixed(12, logicalType="duration"),
        "010000000200000003000000",
        {"months": 1, "days": 2, "millis": 3},
    ),
    (logical("string", "uuid"), "0261", "a"),
    (
        fixed(16, logicalType="uuid"),
        "00112233445566778899aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeeff",
    ),
    (logical("long", "unheard-of"), "02", 1),
    (logical("string", "timestamp-millis"), "0261", "a"),
]


@pytest.mark.parametrize(("schema", "octets", "value"), EVERY_TYPE, ids=str)
def test_every_type_is_read(schema: object, octets: str, value: object) -> None:
    found = value_of(schema, bytes.fromhex(octets))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("schema", "octets", "why"),
    [
        ("int", "", "ends in the middle of a value, at byte 5 of 5"),
        ("int", "80", "ends in the middle of a value"),
        ("int", "8080808010", "an int is 2147483648"),
        ("long", "ffffffffffffffffff03", "an integer of more than 64 bits"),
        ("long", "8080808080808080808001", "an integer of more than 64 bits"),
        ("long", "80" * 100_000, "an integer of more than 64 bits"),
        ("boolean", "02", "a boolean is 0x02"),
        ("boolean", "", "ends in the middle"),
        ("float", "0000c0", "ends in the middle"),
        ("float", "0000c07f", "a number is nan"),
        ("double", "000000000000f07f", "a number is inf"),
        ("double", "000000000000f0ff", "a number is -inf"),
        ("string", "0661", "ends in the middle"),
        ("string", "01", "a length of -1"),
        ("string", "feffffffffffffffff01", "ends in the middle"),
        ("string", "02ff", "byte 0xff, which is not UTF-8"),
        ("bytes", "0461", "ends in the middle"),
        (fixed(4), "000000", "ends in the middle"),
        (ENUM, "08", "symbol 4 of an enumeration of 4"),
        (ENUM, "01", "symbol -1 of an enumeration of 4"),
        (["null", "int"], "04", "branch 2 of a union of 2"),
        (["null", "int"], "01", "branch -1 of a union of 2"),
        ({"type": "array", "items": "int"}, "0202", "ends in the middle"),
        ({"type": "array", "items": "int"}, "03060636 00", "a block says 3 bytes and has 2"),
        ({"type": "array", "items": "int"}, "0301063600", "a block says -1 bytes and has 2"),
        (NULLS, "feffffffffffffffff01", "more than 1000000 values"),
        (NULLS, "ffffffffffffffffff0100", "more than 1000000 values"),
        (NULLS, "80897a" * 2, "more than 1000000 values"),
        ({"type": "map", "values": "int"}, "0402610202610200", "key 'a' is repeated within a map"),
        ({"type": "map", "values": "null"}, "feffffffffffffffff01", "more than 1000000 values"),
        ("int", "0202", "1 bytes after the last record"),
        (LIST, "02" * 100_000, "nested deeper than 64 levels"),
        (ENDLESS, "", "nested deeper than 64 levels"),
        (logical("int", "date"), "feffffff0f", "not in the years 1 to 9999"),
        (logical("int", "time-millis"), "01", "a time of day is -1"),
        (logical("int", "time-millis"), "80f0b252", "a time of day is 86400000"),
        (logical("long", "timestamp-millis"), "feffffffffffffffff01", "not in the years 1 to"),
        (logical("bytes", "decimal", precision=2), "04 03e8", "a decimal of 2 bytes has over 2"),
    ],
)
def test_what_a_type_does_not_allow_is_malformed(schema: object, octets: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        value_of(schema, bytes.fromhex(octets))

    assert why in str(refusal.value)


def test_types_of_a_few_bytes_cannot_expand_to_billions_of_values() -> None:
    schema: object = "null"
    for level in range(20):
        fields = [
            {"name": f"f{i}", "type": schema if i == 0 else f"L{level - 1}"} for i in range(9)
        ]
        if level == 0:
            fields = [{"name": "f", "type": "null"}]
        schema = {"type": "record", "name": f"L{level}", "fields": fields}

    with pytest.raises(MalformedMessage, match="more than 1000000 values"):
        value_of(schema, b"")


def test_bytes_are_written_as_the_options_say() -> None:
    parser = Avro(schemas={"7": field_of("bytes")}, bytes_as="hex")

    found = list(parser.parse(FRAME + b"\4\0\xff"))

    assert found == [{"f": "00ff"}]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "0 bytes; the framing alone has 5"),
        (b"\0\0\0\7", "4 bytes; the framing alone has 5"),
        (b"\1\0\0\0\7\2", "the first byte is 0x01; allowed: 0x00"),
        (b"\0\0\0\0\x09\2", "no schema 9; known: 7, 4294967295"),
    ],
)
def test_a_frame_that_does_not_fit_is_malformed(message: bytes, why: str) -> None:
    parser = Avro(schemas={"7": json.dumps(POINT), "4294967295": json.dumps(POINT)})

    with pytest.raises(MalformedMessage) as refusal:
        list(parser.parse(message))

    assert why in str(refusal.value)


def test_schemas_come_from_a_package_s_folder_too() -> None:
    options = {"schemas_from": "tests.unit.parsers:schemas/avro", "schemas": {"8": '"int"'}}
    parser = load_parser("avro", options)

    found = list(parser.parse(FRAME + b"\2\2" + bytes.fromhex("000000000000f83f")))

    assert found == [{"at": "1970-01-01T00:00:00.001Z", "celsius": 1.5}]


def test_a_datum_that_is_no_record_is_malformed() -> None:
    parser = Avro(schemas={"7": '"int"'})

    with pytest.raises(MalformedMessage, match="the document is a number"):
        list(parser.parse(FRAME + b"\2"))


def test_events_stand_where_the_options_say() -> None:
    batch = {
        "type": "record",
        "name": "Batch",
        "fields": [
            {"name": "serial", "type": "string"},
            {"name": "points", "type": {"type": "array", "items": POINT}},
        ],
    }
    parser = Avro(schemas={"7": json.dumps(batch)}, events_at="points", shared_fields=("serial",))

    found = list(parser.parse(FRAME + bytes.fromhex("0261 04 02 04 00")))

    assert found == [{"serial": "a", "x": 1}, {"serial": "a", "x": 2}]


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


@pytest.mark.parametrize("octets", ["feffffff0f", "80897a", "ffffffffffffffffff0100"])
def test_a_hostile_count_costs_no_memory(octets: str) -> None:
    parser = Avro(schemas={"7": field_of(NULLS)})
    tracemalloc.start()

    with pytest.raises(MalformedMessage):
        list(parser.parse(FRAME + bytes.fromhex(octets)))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 20_000_000


@pytest.mark.parametrize(
    "schema",
    [
        "5",
        "null",
        "[]x",
        "{}",
        '{"type": 5}',
        '{"type": "record"}',
        '{"type": "record", "name": "R", "fields": 5}',
        '{"type": "record", "name": 5, "fields": []}',
        '{"type": "record", "name": "R", "fields": [{"name": 5, "type": "int"}]}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"},'
        ' {"name": "a", "type": "int"}]}',
        '{"type": "enum", "name": "E", "symbols": 5}',
        '{"type": "enum", "name": "E", "symbols": ["A", "A"]}',
        '{"type": "fixed", "name": "F"}',
        '{"type": "fixed", "name": "F", "size": -1}',
        '{"type": "fixed", "name": "F", "size": true}',
        '{"type": "fixed", "name": "F", "size": 1e308, "logicalType": "decimal", "precision": 1}',
        '{"type": "array"}',
        '{"type": "map", "values": "nope"}',
        '{"type": "bytes", "logicalType": "decimal"}',
        '{"type": "bytes", "logicalType": "decimal", "precision": 1000000000}',
        '{"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}',
        '{"type": "fixed", "name": "F", "size": 2, "logicalType": []}',
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "Nope"}],'
        ' "__fastavro_parsed": true, "__named_schemas": {}}',
    ],
)
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(ParserOptionError, match="schema 7: "):
        load_parser("avro", {"schemas": {"7": schema}})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"schemas": {"seven": '"int"'}}, "'seven' is no schema's id"),
        ({"schemas": {"4294967296": '"int"'}}, "is no schema's id: an integer of 32 bits"),
        ({"schemas": {"7": 5}}, "Expected `str`, got `int`"),
        ({"schemas_from": "schemas"}, "'schemas' is not written as package:path"),
        ({"schemas_from": "no_such_package:schemas"}, "No module named 'no_such_package'"),
        ({"schemas_from": "tests.unit.parsers:none"}, "carries no none"),
        ({"schemas_from": "tests.unit.parsers:schemas"}, "has no .avsc files"),
        ({"schemas_from": "tests.unit.parsers:schemas/avro/7.avsc"}, "is no folder"),
        (
            {"schemas_from": "tests.unit.parsers:schemas/avro", "schemas": {"7": '"int"'}},
            "schema 7 is in schemas and in",
        ),
        ({"shared_fields": ["a"]}, "shared_fields needs events_at"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(ParserOptionError) as refusal:
        load_parser("avro", options)

    assert why in str(refusal.value)


# fastavro writes what is to be read, and so is the other opinion.
_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(max_size=5),
}


@st.composite
def _schemas_and_values(draw: st.DrawFn, levels: int = 3) -> tuple[object, object]:
    shape = draw(st.sampled_from(("plain", "array", "map", "union") if levels else ("plain",)))
    if shape == "plain":
        kind = draw(st.sampled_from(sorted(_VALUES)))
        return kind, draw(_VALUES[kind])
    if shape == "union":
        kind = draw(st.sampled_from(sorted(_VALUES.keys() - {"null"})))
        return ["null", kind], draw(st.none() | _VALUES[kind])
    schema, value = draw(_schemas_and_values(levels=levels - 1))
    if shape == "map":
        keys = draw(st.lists(st.text(max_size=3), max_size=3, unique=True))
        return {"type": "map", "values": schema}, dict.fromkeys(keys, value)
    return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 3))


@quick
@given(_schemas_and_values())
def test_what_another_encoder_writes_is_read(written: tuple[object, object]) -> None:
    schema, value = written
    octets = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(field_of(schema)))
    fastavro.schemaless_writer(octets, parsed, {"f": value})

    found = value_of(schema, octets.getvalue())

    assert found == value


_ANY = json.dumps(
    {
        "type": "record",
        "name": "Any",
        "fields": [
            {"name": f"f{position}", "type": schema}
            for position, schema in enumerate(
                [
                    {"type": "array", "items": ["null", "double", "Any"]},
                    {"type": "map", "values": ["string", "float"]},
                    {"type": "long", "logicalType": "timestamp-micros"},
                    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
                ]
            )
        ],
    }
)


@quick
@given(message=st.binary(max_size=60))
def test_any_bytes_give_events_or_malformed(message: bytes) -> None:
    try:
        found = list(Avro(schemas={"7": _ANY}).parse(FRAME + message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)


_FILE = container(json.loads(_ANY), [], "deflate")


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
