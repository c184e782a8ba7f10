from base64 import b64encode
from importlib.resources import files

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.protobuf.parser import Protobuf
from fleetlane.parsers.registry import ParserOptionError, load_parser
from tests.unit.parsers.protobuf_parsers import BATCH, EVERY, KNOWN, OLD, SET, quick

# The encoding page's examples first: 150, "testing", an embedded message, "hello", packed numbers.
EVERY_TYPE = [
    ("089601", "int32", 150),
    ("120774657374696e67", "string", "testing"),
    ("220568656c6c6f280128022803", "bytes", "aGVsbG8"),
    ("220568656c6c6f280128022803", "numbers", [1, 2, 3]),
    ("3206038e029ea705", "packed", [3, 270, 86942]),
    ("3003308e02309ea705", "packed", [3, 270, 86942]),
    ("2a03010203", "numbers", [1, 2, 3]),
    ("08feffffffffffffffff01", "int32", -2),
    ("60ffffffffffffffffff01", "int64", -1),
    ("6080808080808080808001", "int64", -(2**63)),
    ("68ffffffff0f", "uint32", 2**32 - 1),
    ("70ffffffffffffffffff01", "uint64", 2**64 - 1),
    ("7801", "sint32", -1),
    ("7802", "sint32", 1),
    ("7803", "sint32", -2),
    ("78feffffff0f", "sint32", 2**31 - 1),
    ("78ffffffff0f", "sint32", -(2**31)),
    ("8001ffffffffffffffffff01", "sint64", -(2**63)),
    ("3801", "bool", True),
    ("4001", "mode", "HEATING"),
    ("4007", "mode", 7),
    ("490100000000000000", "fixed64", 1),
    ("51ffffffffffffffff", "sfixed64", -1),
    ("59000000000000f83f", "double", 1.5),
    ("8d0101000000", "fixed32", 1),
    ("9501ffffffff", "sfixed32", -1),
    ("9d010000c03f", "float", 1.5),
    ("a00100", "optional", 0),
    ("aa0100", "left", ""),
    ("aa0100b00105", "right", 5),
    ("ba01050a01611007", "by_text", {"a": 7}),
    ("ba01030a0161", "by_text", {"a": 0}),
    ("c201060801120208 05", "by_number", {"-1": {"x": 5}}),
    ("c2010408011200", "by_number", {"-1": {"x": 0}}),
    ("ca010508011201 61", "by_flag", {"true": "a"}),
    ("ca0100", "by_flag", {"false": ""}),
    ("d2010208 05d20100", "points", [{"x": 5}, {"x": 0}]),
    ("08010802", "int32", 2),
]


@pytest.mark.parametrize(("message", "name", "value"), EVERY_TYPE, ids=str)
def test_every_type_is_read(message: str, name: str, value: object) -> None:
    (event,) = EVERY.parse(bytes.fromhex(message))

    assert event[name] == value
    assert type(event[name]) is type(value)


def test_an_embedded_message_is_an_object() -> None:
    (event,) = EVERY.parse(bytes.fromhex("1a03089601"))

    nested = event["nested"]
    assert isinstance(nested, dict)
    assert nested["int32"] == 150


def test_fields_with_presence_are_there_only_where_they_were_sent() -> None:
    (event,) = EVERY.parse(b"")

    assert event == {
        **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64"), 0),
        **dict.fromkeys(("fixed32", "fixed64", "sfixed32", "sfixed64"), 0),
        **dict.fromkeys(("double", "float"), 0.0),
        **{key: [] for key in ("numbers", "packed", "points")},
        **{key: {} for key in ("by_text", "by_number", "by_flag")},
        "string": "",
        "bytes": "",
        "bool": False,
        "mode": "IDLE",
    }


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        ("0a0808dcb3a7c80610 00", "at", "2025-11-04T10:47:56Z"),
        ("0a020801", "at", "1970-01-01T00:00:01Z"),
        ("0a0410c0843d", "at", "1970-01-01T00:00:00.001Z"),
        ("12020803", "took", "3s"),
        ("1a080a01610a03622e63", "mask", "a,b.c"),
        ("22090a070a0178120220 01", "object", {"x": True}),
        ("2a020800", "value", None),
        ("2a0911000000000000f83f", "value", 1.5),
        ("2a031a0161", "value", "a"),
        ("2a0632040a022001", "value", [True]),
        ("32060a0220010a00", "list", [True, None]),
        ("3a020807", "wrapped", 7),
        ("3a00", "wrapped", 0),
        ("42030a01ff", "bytes", "_w"),
        ("4a060a0161120162", "any", {"type_url": "a", "value": "Yg"}),
    ],
)
def test_well_known_types_are_what_their_json_is(message: str, name: str, value: object) -> None:
    (event,) = KNOWN.parse(bytes.fromhex(message))

    assert event[name] == value


def test_names_and_groups_of_proto2_are_read() -> None:
    message = bytes.fromhex("0805 1201 61 23 09000000000000f83f 24 2801 2807")

    (event,) = OLD.parse(message)

    assert event == {
        "id": 5,
        "label": "a",
        "numbers": [],
        "position": {"latitude": 1.5},
        "colour": "RED",
    }


@pytest.mark.parametrize(
    "message",
    ["f87f01", "f97f0000000000000000", "fa7f0161", "fb7f0801fc7f", "fd7f00000000"],
    ids=["varint", "64 bits", "length", "group", "32 bits"],
)
def test_unknown_fields_are_skipped(message: str) -> None:
    (event,) = EVERY.parse(bytes.fromhex("0805" + message))

    assert event["int32"] == 5


def test_delimited_messages_are_an_event_each() -> None:
    message = bytes.fromhex("030a0161 00 030a0162")

    serials = [event["serial"] for event in BATCH.parse(message)]

    assert serials == ["a", "", "b"]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("030a01", "a message of 3 bytes is announced at byte 1; 2 are left"),
        ("00030a", "a message of 3 bytes is announced at byte 2; 1 are left"),
        ("80", "a length does not end in the 1 bytes from byte 0"),
        ("ffffffffffff01", "a length does not end in the 5 bytes from byte 0"),
        ("ffffffff0f", "a message of 4294967295 bytes is announced at byte 5; 0 are left"),
        ("000108", "message 2: no acme.v1.Batch"),
    ],
)
def test_delimited_messages_that_do_not_fit_are_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(BATCH.parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


def test_events_stand_where_the_options_say() -> None:
    options = {"descriptor_set": SET, "message": "acme.v1.Batch", "events_at": "readings"}
    parser = load_parser("protobuf", {**options, "shared_fields": ["serial"]})

    found = list(parser.parse(bytes.fromhex("0a0161 12020805 1200")))

    assert found == [{"serial": "a", "x": 5}, {"serial": "a", "x": 0}]


def test_a_descriptor_set_may_be_in_the_options() -> None:
    octets = files("tests.unit.parsers").joinpath("schemas/every_type.binpb").read_bytes()
    parser = Protobuf(descriptor_set=b64encode(octets).decode(), message="acme.v1.Point")

    found = list(parser.parse(b"\x08\x05"))

    assert found == [{"x": 5}]


def _needing_an_import() -> str:
    file = FileDescriptorProto(name="a.proto", dependency=["missing.proto"])
    return b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"descriptor_set": SET, "message": "acme.v1.None"}, "has no message 'acme.v1.None'"),
        ({"descriptor_set": "!", "message": "A"}, "neither package:file nor base64"),
        ({"descriptor_set": "CAE=", "message": "A"}, "descriptor_set has no message 'A'"),
        ({"descriptor_set": "Cg==", "message": "A"}, "descriptor_set is none"),
        ({"descriptor_set": "", "message": "A"}, "descriptor_set has no message 'A'"),
        ({"descriptor_set": "tests.unit.parsers:none", "message": "A"}, "carries no none"),
        ({"descriptor_set": "no_such_package:a", "message": "A"}, "no_such_package"),
        ({"descriptor_set": "tests.unit.parsers:schemas", "message": "A"}, "is no file"),
        ({"descriptor_set": _needing_an_import(), "message": "A"}, "needs --include_imports"),
        ({"descriptor_set": SET}, "message"),
        (
            {"descriptor_set": SET, "message": "acme.v1.Every", "framing": "confluent"},
            "Invalid enum value 'confluent'",
        ),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(ParserOptionError) as refusal:
        load_parser("protobuf", options)

    assert why in str(refusal.value)


_PIECES = st.sampled_from([bytes.fromhex(row[0]) for row in EVERY_TYPE])


@quick
@given(message=st.binary(max_size=40) | st.lists(_PIECES | st.binary(max_size=3)).map(b"".join))
@pytest.mark.parametrize("parser", [EVERY, KNOWN, OLD, BATCH], ids=lambda parser: parser.message)
def test_any_bytes_give_events_or_malformed(parser: Protobuf, message: bytes) -> None:
    try:
        found = list(parser.parse(message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)
