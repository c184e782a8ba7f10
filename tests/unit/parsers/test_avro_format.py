import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.parser import Avro
from fleetlane.parsers.registry import ParserOptionError, load_parser
from tests.unit.parsers.avro_schemas import ANY, FRAME, POINT, quick


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


@quick
@given(message=st.binary(max_size=60))
def test_any_bytes_give_events_or_malformed(message: bytes) -> None:
    try:
        found = list(Avro(schemas={"7": ANY}).parse(FRAME + message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)
