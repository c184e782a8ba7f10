"""Values of every type of Avro, and what is none."""

import io
import json
import tracemalloc
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.parser import Avro
from tests.unit.parsers.avro_schemas import FRAME, NULLS, field_of, quick, value_of

LIST = {"type": "record", "name": "List", "fields": [{"name": "next", "type": ["null", "List"]}]}
ENDLESS = {"type": "record", "name": "Endless", "fields": [{"name": "next", "type": "Endless"}]}


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


@pytest.mark.parametrize("octets", ["feffffff0f", "80897a", "ffffffffffffffffff0100"])
def test_a_hostile_count_costs_no_memory(octets: str) -> None:
    parser = Avro(schemas={"7": field_of(NULLS)})
    tracemalloc.start()

    with pytest.raises(MalformedMessage):
        list(parser.parse(FRAME + bytes.fromhex(octets)))

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 20_000_000


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
