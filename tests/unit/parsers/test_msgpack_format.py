import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.msgpack import Msgpack
from fleetlane.parsers.json_domain import DEPTH_MAX, VALUES_MAX

# One row a format of the specification's overview, at its edges; `61` is the text "a".
SPECIFICATION: dict[str, tuple[str, object]] = {
    "positive fixint, lowest": ("00", 0),
    "positive fixint, highest": ("7f", 127),
    "fixmap, empty": ("80", {}),
    "fixmap": ("82a16101a162c0", {"a": 1, "b": None}),
    "fixarray, empty": ("90", []),
    "fixarray": ("93c2c301", [False, True, 1]),
    "fixstr, empty": ("a0", ""),
    "fixstr, longest": ("bf" + "61" * 31, "a" * 31),
    "nil": ("c0", None),
    "false": ("c2", False),
    "true": ("c3", True),
    "bin 8": ("c402fbff", "-_8"),
    "bin 16": ("c50002fbff", "-_8"),
    "bin 32": ("c600000002fbff", "-_8"),
    "float 32": ("ca41ac0000", 21.5),
    "float 64": ("cb3ff199999999999a", 1.1),
    "float 64, negative zero": ("cb8000000000000000", -0.0),
    "uint 8": ("ccff", 255),
    "uint 16": ("cdffff", 65_535),
    "uint 32": ("ceffffffff", 2**32 - 1),
    "uint 64": ("cfffffffffffffffff", 2**64 - 1),
    "uint 64 of a small number": ("cf0000000000000001", 1),
    "int 8": ("d080", -128),
    "int 16": ("d18000", -32_768),
    "int 32": ("d280000000", -(2**31)),
    "int 64": ("d38000000000000000", -(2**63)),
    "timestamp 32 (fixext 4)": ("d6ff514b67b0", "2013-03-21T20:04:00Z"),
    "timestamp 32, the epoch": ("d6ff00000000", "1970-01-01T00:00:00Z"),
    "timestamp 64 (fixext 8)": ("d7ff77359400514b67b0", "2013-03-21T20:04:00.5Z"),
    "timestamp 64, all digits": ("d7ff0000000400000000", "1970-01-01T00:00:00.000000001Z"),
    "timestamp 96 (ext 8)": ("c70cff00000000ffffffffffffffff", "1969-12-31T23:59:59Z"),
    "timestamp 96, of the year 1": ("c70cff00000000fffffff1886e0900", "0001-01-01T00:00:00Z"),
    "timestamp 96, with a fraction": ("c70cff000f4240ffffffffffffffff", "1969-12-31T23:59:59.001Z"),
    "str 8": ("d90161", "a"),
    "str 16": ("da000161", "a"),
    "str 32": ("db0000000161", "a"),
    "array 16": ("dc000101", [1]),
    "array 32": ("dd0000000101", [1]),
    "map 16": ("de0001a16101", {"a": 1}),
    "map 32": ("df00000001a16101", {"a": 1}),
    "negative fixint, highest": ("ff", -1),
    "negative fixint, lowest": ("e0", -32),
}

REFUSED = {
    "never used": ("81a178c1", "byte 0xc1 begins nothing"),
    "fixext 1": ("81a178d40501", "extension type 5 of 1 bytes; allowed: -1, a timestamp"),
    "fixext 2": ("81a178d5050102", "extension type 5 of 2 bytes"),
    "fixext 4": ("81a178d60501020304", "extension type 5 of 4 bytes"),
    "fixext 8": ("81a178d7050102030405060708", "extension type 5 of 8 bytes"),
    "fixext 16": ("81a178d805" + "00" * 16, "extension type 5 of 16 bytes"),
    "ext 8": ("81a178c70005", "extension type 5 of 0 bytes"),
    "ext 16": ("81a178c80001fe00", "extension type -2 of 1 bytes"),
    "ext 32": ("81a178c9000000017f00", "extension type 127 of 1 bytes"),
    "a timestamp of two bytes": ("81a178d5ff0001", "invalid timestamp data (length 2)"),
    "a timestamp of a billion nanoseconds": ("81a178d7ffee6b280000000000", "not MessagePack"),
    "a timestamp beyond year 9999": (
        "81a178c70cff000000007fffffffffffffff",
        "timestamp of 9223372036854775807 seconds; allowed: years 1 to 9999",
    ),
    "a timestamp before year 1": ("81a178c70cff00000000ffffff0000000000", "allowed: years 1"),
    "nothing": ("", "incomplete input"),
    "a cut integer": ("81a178cd00", "incomplete input"),
    "a cut string": ("81a178a461", "incomplete input"),
    "a cut array": ("9290", "incomplete input"),
    "a cut map": ("82a17801", "incomplete input"),
    "an array that is longer than the message": ("ddffffffff", "4294967295 exceeds max_array_len"),
    "a map that is longer than the message": ("dfffffffff", "4294967295 exceeds max_map_len"),
    "a string that is longer than the message": ("dbffffffff61", "incomplete input"),
    "a bin that is longer than the message": ("c6ffffffff61", "incomplete input"),
    "an extension that is longer than the message": ("c9ffffffff05", "not MessagePack"),
    "bytes behind the object": ("808000", "2 bytes follow the object; allowed: none"),
    "NaN": ("81a178cb7ff8000000000000", "a number is nan; numbers are finite"),
    "infinity": ("81a178ca7f800000", "a number is inf; numbers are finite"),
    "minus infinity": ("81a178cbfff0000000000000", "a number is -inf; numbers are finite"),
    "no UTF-8": ("81a178a1ff", "can't decode byte 0xff"),
    "a surrogate": ("81a178a3eda080", "can't decode byte 0xed"),
    "a repeated key": ("82a17801a17802", "key 'x' is repeated within an object"),
    "a repeated key within": ("9181a16182a17801a17802", "key 'x' is repeated within an object"),
    "an integer as key": ("810102", "int is not allowed for map key"),
    "a bin as key": ("81c4017801", "key b'x' is neither text nor an integer"),
    "nil as key": ("81c001", "NoneType is not allowed for map key"),
    "a lone number": ("01", "the document is a number"),
    "an array of numbers": ("9101", "element 0 of the document is a number"),
}


@pytest.mark.parametrize(("item", "value"), SPECIFICATION.values(), ids=SPECIFICATION)
def test_formats_are_read_as_the_specification_writes_them(item: str, value: object) -> None:
    (event,) = Msgpack().parse(bytes.fromhex("81a178" + item))

    assert repr(event) == repr({"x": value})


@pytest.mark.parametrize(("message", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_exactly_messagepack_is_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Msgpack().parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


def test_bins_are_written_as_the_flow_says() -> None:
    (event,) = Msgpack(bytes_as="hex").parse(bytes.fromhex("81a178c402fbff"))

    assert event == {"x": "fbff"}


def test_integer_keys_are_written_in_decimal_where_the_flow_says_so() -> None:
    (event,) = Msgpack(integer_keys=True).parse(bytes.fromhex("830102ff03a1780a"))

    assert event == {"1": 2, "-1": 3, "x": 10}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("820102a13103", "a key is repeated within an object: as text, and as an integer"),
        ("8201020103", "key 1 is repeated within an object"),
        ("81c302", "key True is neither text nor an integer"),
        ("81910102", "a key is an array or a map; allowed: text"),
        ("8181010102", "a key is an array or a map; allowed: text"),
        ("81d6ff0000000002", "is neither text nor an integer"),
    ],
)
def test_other_keys_are_malformed_even_then(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Msgpack(integer_keys=True).parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


def test_events_are_found_where_the_flow_says() -> None:
    message = msgpack.packb({"serial": "s1", "data": {"readings": [{"t": 1}, {"t": 2}]}})

    found = list(Msgpack(events_at="data.readings", shared_fields=("serial",)).parse(message))

    assert found == [{"serial": "s1", "t": 1}, {"serial": "s1", "t": 2}]


def test_the_deepest_nesting_allowed_is_read() -> None:
    message = b"\x81\xa1x" + b"\x91" * (DEPTH_MAX - 1) + b"\x01"

    found = list(Msgpack().parse(message))

    assert len(found) == 1


@pytest.mark.parametrize("levels", [DEPTH_MAX, 1_000, 100_000])
def test_one_level_too_deep_is_malformed(levels: int) -> None:
    message = b"\x81\xa1x" + b"\x91" * levels + b"\x01"

    with pytest.raises(MalformedMessage, match="nested deeper than"):
        list(Msgpack().parse(message))


def test_more_values_than_allowed_are_malformed() -> None:
    message = b"\xdd" + (VALUES_MAX + 1).to_bytes(4) + b"\x80" * (VALUES_MAX + 1)

    with pytest.raises(MalformedMessage, match="more than 1000000 values"):
        list(Msgpack().parse(message))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(event=st.dictionaries(texts, values, max_size=4))
def test_every_value_that_json_has_comes_back(event: dict[str, object]) -> None:
    message = msgpack.packb(event)

    found = list(Msgpack().parse(message))

    assert found == [event]
