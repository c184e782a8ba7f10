import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import settings

from fleetlane.events.flows.flow import ParserRule
from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.binary.parser import Binary
from fleetlane.parsers.registry import ParserOptionError, load_parser

quick = settings(max_examples=100, deadline=None)

MESSAGE = bytes.fromhex(
    "a55a 74682d3137000000 0002"  # the header: magic, "th-17", two readings
    "01000000 5308 01 c9 ffff"
    "02000000 adf7 00 00 0000"
)


def documented_options() -> dict[str, object]:
    """The options of the flow file that the document shows."""
    section = Path("docs/formats.md").read_text(encoding="utf-8").partition("### binary")[2]
    example = section.partition("```toml")[2].partition("```")[0]
    rule: dict[str, object] = tomllib.loads(example)["parsers"][0]["options"]
    return rule


def only(field: Mapping[str, object], raw: bytes) -> object:
    """What one named field reads from its bytes."""
    (event,) = Binary(header=({"name": "x", **field},)).parse(raw)
    return event["x"]


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("i8", "ff", -1),
        ("u8", "ff", 255),
        ("i16le", "feff", -2),
        ("i16be", "fffe", -2),
        ("u16le", "0102", 0x0201),
        ("u16be", "0102", 0x0102),
        ("i32le", "00000080", -(2**31)),
        ("i32be", "80000000", -(2**31)),
        ("u32le", "01020304", 0x04030201),
        ("u32be", "01020304", 0x01020304),
        ("i64le", "0000000000000080", -(2**63)),
        ("i64be", "8000000000000000", -(2**63)),
        ("u64le", "ffffffffffffffff", 2**64 - 1),
        ("u64be", "0000000000000001", 1),
        ("f32le", "0000c03f", 1.5),
        ("f32be", "3fc00000", 1.5),
        ("f64le", "000000000000f83f", 1.5),
        ("f64be", "3ff8000000000000", 1.5),
        ("text:4", "61620000", "ab"),
        ("text:4", "6100ffff", "a"),
        ("text:4", "00000000", ""),
        ("text:2", "c3a9", "é"),
        ("bytes:3", "00ff10", "00ff10"),
    ],
)
def test_every_type_is_read(kind: str, raw: str, value: object) -> None:
    found = only({"type": kind}, bytes.fromhex(raw))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("field", "raw", "value"),
    [
        ({"type": "i16le", "scale": 0.01}, "5308", 21.31),
        ({"type": "i16le", "scale": -0.5, "offset": 3}, "0100", 2.5),
        ({"type": "u8", "scale": 3}, "07", 21.0),
        ({"type": "u8", "offset": -40}, "00", -40.0),
        ({"type": "f32le", "scale": 2}, "0000c03f", 3.0),
        ({"type": "u8", "values": {"0": "shut", "1": "open"}}, "01", "open"),
        ({"type": "i8", "values": {"-1": False, "1": True}}, "ff", False),
        ({"type": "u8", "equals": 7}, "07", 7),
        ({"type": "text:4", "equals": "ab"}, "61620000", "ab"),
    ],
)
def test_numbers_become_what_their_field_says(
    field: Mapping[str, object], raw: str, value: object
) -> None:
    found = only(field, bytes.fromhex(raw))

    assert found == value


@pytest.mark.parametrize(
    ("field", "raw", "why"),
    [
        ({"type": "f32le"}, "0000c07f", "x is nan; numbers are finite"),
        ({"type": "f64be"}, "7ff0000000000000", "x is inf"),
        ({"type": "f64be", "scale": 1e300}, "7fe0000000000000", "x is inf"),
        ({"type": "u64le", "scale": 1e300}, "ffffffffffffffff", "x is inf"),
        ({"type": "text:2"}, "61ff", "x: byte 0xff at 1 is not UTF-8"),
        ({"type": "u8", "values": {"0": "shut", "1": "open"}}, "02", "x is 2; allowed: 0, 1"),
        ({"type": "u8", "equals": 7}, "08", "x is 8; allowed: 7"),
        ({"type": "bytes:2", "equals": "a55a"}, "5aa5", "x is 5aa5; allowed: a55a"),
        ({"type": "u32le"}, "010203", "3 bytes; the header has 4"),
        ({"type": "u32le"}, "0102030405", "5 bytes; the header has 4"),
        ({"type": "u32le"}, "", "0 bytes; the header has 4"),
    ],
)
def test_what_a_field_does_not_allow_is_malformed(
    field: Mapping[str, object], raw: str, why: str
) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        only(field, bytes.fromhex(raw))

    assert why in str(refusal.value)


def test_bits_are_taken_from_the_lowest_up() -> None:
    bits = [
        {"name": "low", "bits": 3},
        {"bits": 1},
        {"name": "negative", "bits": 4, "signed": True},
        {"name": "high", "bits": 8, "scale": 0.5},
        {"name": "mode", "bits": 2, "values": {"2": "on"}},
    ]
    parser = Binary(header=({"name": "word", "type": "u32be", "bits": bits},))

    (event,) = parser.parse(((0b10 << 16) | (5 << 8) | (0b1111 << 4) | 0b1101).to_bytes(4))

    assert event == {"word": 132605, "low": 5, "negative": -1, "high": 2.5, "mode": "on"}


def test_the_example_of_the_documentation_is_read() -> None:
    parser = load_parser("binary", documented_options())

    events = list(parser.parse(MESSAGE))

    names = ("serial", "measured_at", "celsius", "mode", "is_on", "battery")
    assert events == [
        dict(zip(names, ("th-17", 1, 21.31, "heating", 1, 100), strict=True)),
        dict(zip(names, ("th-17", 2, -21.31, "idle", 0, 0), strict=True)),
    ]


def test_options_survive_being_published() -> None:
    published = msgspec.json.encode({"use": "binary", "options": documented_options()})

    rule = msgspec.json.decode(published, type=ParserRule)

    assert load_parser("binary", rule.options) == load_parser("binary", documented_options())


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (MESSAGE[:-1], "31 bytes; 2 records of 10 after a header of 12 are 32"),
        (MESSAGE + b"\0", "33 bytes; 2 records of 10 after a header of 12 are 32"),
        (MESSAGE[:10] + b"\xff\xff" + MESSAGE[12:], "65535 records of 10 after a header of 12"),
        (MESSAGE[:5], "5 bytes; the header has 12"),
        (b"\0" + MESSAGE[1:], "field 0 (bytes:2) is 005a; allowed: a55a"),
        (MESSAGE[:28] + b"\x07" + MESSAGE[29:], "record 2: mode is 7; allowed: 0, 1"),
    ],
)
def test_what_does_not_fit_the_layout_is_malformed(message: bytes, why: str) -> None:
    parser = load_parser("binary", documented_options())

    with pytest.raises(MalformedMessage) as refusal:
        list(parser.parse(message))

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("message", "values"), [(b"", []), (b"\x01\x02", [1, 2]), (b"\0\0\0", [0, 0, 0])]
)
def test_without_a_count_records_go_on_to_the_end(message: bytes, values: list[int]) -> None:
    found = list(Binary(fields=({"name": "x", "type": "u8"},)).parse(message))

    assert [event["x"] for event in found] == values


def test_a_part_of_a_record_is_malformed() -> None:
    parser = Binary(header=({"type": "skip:1"},), fields=({"name": "x", "type": "u32le"},))

    with pytest.raises(MalformedMessage, match="5 bytes of records; a record has 4"):
        list(parser.parse(bytes(6)))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "neither fields nor header"),
        ({"fields": [{"name": "x"}]}, "fields[0]: Object missing required field `type`"),
        (
            {"fields": [{"name": "x", "type": "u8", "unit": "C"}]},
            "fields[0]: Object contains unknown field `unit`; allowed: bits, equals, name",
        ),
        (
            {"header": [{"type": "u8", "bits": [{"size": 1}]}]},
            "header[0].bits[0]: Object contains unknown field `size`; allowed: bits, name, offset",
        ),
        ({"fields": [{"name": "x", "type": "u16"}]}, "type 'u16'; allowed: i8, u8, i16le"),
        ({"fields": [{"name": "x", "type": "text:0"}]}, "type 'text:0'; allowed"),
        ({"fields": [{"name": "x", "type": "bytes:100000"}]}, "of 1 to 99999 bytes"),
        ({"fields": [{"name": "x", "type": "u8", "scale": "1"}]}, "Expected `float`, got `str`"),
        ({"fields": [{"name": "x", "type": "u8", "scale": 0}]}, "is 0 or not finite"),
        ({"fields": [{"name": "x", "type": "text:4", "scale": 2}]}, "are for numbers"),
        ({"fields": [{"name": "x", "type": "f32le", "values": {"1": "a"}}]}, "are for integers"),
        ({"fields": [{"name": "x", "type": "u8", "values": {"one": 1}}]}, "is no integer"),
        (
            {"fields": [{"name": "x", "type": "u8", "scale": 2, "values": {"1": 1}}]},
            "only one of them",
        ),
        ({"fields": [{"type": "u8"}]}, "a name, equals or bits is missing"),
        ({"fields": [{"name": "x", "type": "skip:1"}]}, "what is skipped has no name"),
        ({"fields": [{"type": "u8", "equals": 256}]}, "equals 256"),
        ({"fields": [{"type": "u8", "equals": "a5"}]}, "equals 'a5' is not what u8 holds"),
        ({"fields": [{"type": "bytes:2", "equals": "a5"}]}, "equals 'a5' has 1 bytes"),
        ({"fields": [{"type": "bytes:1", "equals": "zz"}]}, "non-hexadecimal"),
        ({"fields": [{"type": "i8", "bits": [{"bits": 1}]}]}, "bits are for unsigned words"),
        ({"fields": [{"type": "u8", "bits": [{"bits": 0}]}]}, "bits[0].bits: Expected `int` >= 1"),
        (
            {"fields": [{"type": "u16le", "bits": [{"bits": 9}, {"bits": 8}]}]},
            "bits are 17 together; u16le has 16",
        ),
        (
            {"header": [{"name": "x", "type": "u8"}], "fields": [{"name": "x", "type": "u8"}]},
            "name 'x' is repeated",
        ),
        (
            {"fields": [{"name": "x", "type": "u8"}], "count": "n"},
            "count 'n' is no plain unsigned field of the header",
        ),
        ({"header": [{"name": "n", "type": "u8"}], "count": "n"}, "there are no fields"),
    ],
)
def test_options_that_cannot_work_are_refused_by_place(
    options: dict[str, object], why: str
) -> None:
    with pytest.raises(ParserOptionError) as refusal:
        load_parser("binary", options)

    assert why in str(refusal.value)
