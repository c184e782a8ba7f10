import time
import tracemalloc

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.cbor import Cbor
from fleetlane.parsers.json_domain import DEPTH_MAX, VALUES_MAX

UP_TO_25 = list(range(1, 26))

RFC_8949_APPENDIX_A: dict[str, object] = {
    "00": 0,
    "01": 1,
    "0a": 10,
    "17": 23,
    "1818": 24,
    "1819": 25,
    "1864": 100,
    "1903e8": 1000,
    "1a000f4240": 1_000_000,
    "1b000000e8d4a51000": 1_000_000_000_000,
    "1bffffffffffffffff": 2**64 - 1,
    "20": -1,
    "29": -10,
    "3863": -100,
    "3903e7": -1000,
    "f90000": 0.0,
    "f98000": -0.0,
    "f93c00": 1.0,
    "fb3ff199999999999a": 1.1,
    "f93e00": 1.5,
    "f97bff": 65504.0,
    "fa47c35000": 100000.0,
    "fa7f7fffff": 3.4028234663852886e38,
    "fb7e37e43c8800759c": 1.0e300,
    "f90001": 5.960464477539063e-8,
    "f90400": 0.00006103515625,
    "f9c400": -4.0,
    "fbc010666666666666": -4.1,
    "f4": False,
    "f5": True,
    "f6": None,
    "f7": None,
    "c074323031332d30332d32315432303a30343a30305a": "2013-03-21T20:04:00Z",
    "c11a514b67b0": 1363896240,
    "c1fb41d452d9ec200000": 1363896240.5,
    "d74401020304": "01020304",
    "d818456449455446": "ZElFVEY",
    "d82076687474703a2f2f7777772e6578616d706c652e636f6d": "http://www.example.com",
    "40": "",
    "4401020304": "AQIDBA",
    "60": "",
    "6161": "a",
    "6449455446": "IETF",
    "62225c": '"\\',
    "62c3bc": "\u00fc",
    "63e6b0b4": "\u6c34",
    "64f0908591": "\U00010151",
    "80": [],
    "83010203": [1, 2, 3],
    "8301820203820405": [1, [2, 3], [4, 5]],
    "98190102030405060708090a0b0c0d0e0f101112131415161718181819": UP_TO_25,
    "a0": {},
    "a26161016162820203": {"a": 1, "b": [2, 3]},
    "826161a161626163": ["a", {"b": "c"}],
    "a56161614161626142616361436164614461656145": dict(zip("abcde", "ABCDE", strict=True)),
    "5f42010243030405ff": "AQIDBAU",
    "7f657374726561646d696e67ff": "streaming",
    "9fff": [],
    "9f018202039f0405ffff": [1, [2, 3], [4, 5]],
    "9f01820203820405ff": [1, [2, 3], [4, 5]],
    "83018202039f0405ff": [1, [2, 3], [4, 5]],
    "83019f0203ff820405": [1, [2, 3], [4, 5]],
    "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff": UP_TO_25,
    "bf61610161629f0203ffff": {"a": 1, "b": [2, 3]},
    "826161bf61626163ff": ["a", {"b": "c"}],
    "bf6346756ef563416d7421ff": {"Fun": True, "Amt": -2},
}
RFC_8949_APPENDIX_A_REFUSED = {
    "c249010000000000000000": "bignum of 9 bytes; allowed: 8",
    "3bffffffffffffffff": "integer -18446744073709551616 is beyond 64 bits",
    "c349010000000000000000": "bignum of 9 bytes; allowed: 8",
    "f97c00": "a number is inf; numbers are finite",
    "f97e00": "a number is nan; numbers are finite",
    "f9fc00": "a number is -inf; numbers are finite",
    "fa7f800000": "a number is inf; numbers are finite",
    "fa7fc00000": "a number is nan; numbers are finite",
    "faff800000": "a number is -inf; numbers are finite",
    "fb7ff0000000000000": "a number is inf; numbers are finite",
    "fb7ff8000000000000": "a number is nan; numbers are finite",
    "fbfff0000000000000": "a number is -inf; numbers are finite",
    "f0": "CBORSimpleValue(16) is no value of JSON",
    "f8ff": "CBORSimpleValue(255) is no value of JSON",
    "a201020304": "map key must be a text string or byte string, not int",
}

REFUSED = {
    "nothing": ("", "premature end"),
    "a cut integer": ("a1617819", "premature end"),
    "a cut string": ("a1617864616263", "premature end"),
    "a cut array": ("9f01", "premature end"),
    "an array that is longer than the message": ("9b7fffffffffffffff01", "premature end"),
    "a map that is longer than the message": ("bb7fffffffffffffff", "premature end"),
    "a string that is longer than the message": ("7b7fffffffffffffff61", "premature end"),
    "a byte string that is longer than the message": ("5affffffff61", "premature end"),
    "bytes behind the item": ("a0a0", "1 bytes follow the data item; allowed: none"),
    "a break alone": ("ff", "break code"),
    "reserved length": ("1c", "0x1c"),
    "a simple value below 32 in two bytes": ("a16178f818", "invalid two-byte sequence"),
    "an odd number in an open map": ("bf6161ff", "missing value for key"),
    "chunks of another type": ("a161787f4161ff", "found in indefinite length text string"),
    "a character split over chunks": ("a161787f61c361bcff", "not CBOR: error decoding text"),
    "no UTF-8": ("a1617861ff", "'utf-8' codec can't decode byte 0xff"),
    "a surrogate": ("a1617863eda080", "'utf-8' codec can't decode byte 0xed"),
    "a repeated key": ("a2617801617802", "Duplicate map key: 'x'"),
    "a repeated key of an open map": ("bf617801617802ff", "Duplicate map key: 'x'"),
    "a byte string as key": ("a1417801", "key b'x' is neither text nor an integer"),
    "an array as key": ("a1810102", "map key must be"),
    "a time that is a number in tag 0": ("a16178c001", "tag 0 is before int; allowed: text"),
    "a time that is text in tag 1": ("a16178c16131", "tag 1 is before str; allowed: a number"),
    "a time that is true": ("a16178c1f5", "tag 1 is before bool; allowed: a number"),
    "a time that is infinite": ("a16178c1f97c00", "a number is inf; numbers are finite"),
    "a bignum of text": ("a16178c26131", "tag 2 is before str; allowed: a byte string"),
    "an array written in hex": ("a16178d78101", "tag 23 is before list; allowed: a byte"),
    "a regular expression": ("a16178d823612b", "tag 35; allowed: 0, 1, 2, 3, 21"),
    "a shared value within itself": ("d81c81d81d00", "tag 29; allowed"),
    "a shared value": ("d81c81a0", "tag 28; allowed"),
    "shared strings": ("d9010082616100", "tag 256; allowed"),
    "a decimal fraction": ("a16178c48221196ab3", "tag 4; allowed"),
    "a date": ("a16178d903ec6a323032302d30312d3031", "tag 1004; allowed"),
    "a set": ("a16178d90102820101", "tag 258; allowed"),
    "a tag of 64 bits": ("a16178dbffffffffffffffff01", "tag 18446744073709551615; allowed"),
    "a lone number": ("01", "the document is a number"),
    "arrays of numbers": ("8101", "element 0 of the document is a number"),
}


def under_x(item: str) -> bytes:
    """The map of ``x`` to an item in hex."""
    return bytes.fromhex("a16178" + item)


@pytest.mark.parametrize(("item", "value"), RFC_8949_APPENDIX_A.items())
def test_items_are_read_as_rfc_8949_writes_them(item: str, value: object) -> None:
    (event,) = Cbor().parse(under_x(item))

    assert repr(event) == repr({"x": value})


@pytest.mark.parametrize(("item", "why"), RFC_8949_APPENDIX_A_REFUSED.items())
def test_items_of_rfc_8949_that_json_lacks_are_malformed(item: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Cbor().parse(under_x(item)))

    assert why in str(refusal.value)


@pytest.mark.parametrize(("message", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_exactly_cbor_is_malformed(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Cbor().parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("c248ffffffffffffffff", 2**64 - 1),
        ("c3487fffffffffffffff", -(2**63)),
        ("c24a0000ffffffffffffffff", 2**64 - 1),
        ("c240", 0),
        ("d9d9f701", 1),
        ("d542fbff", "-_8"),
        ("d642fbff", "+/8="),
        ("d742fbff", "fbff"),
    ],
)
def test_tags_say_what_a_byte_string_is(item: str, value: object) -> None:
    (event,) = Cbor(bytes_as="hex").parse(under_x(item))

    assert event == {"x": value}


@pytest.mark.parametrize(
    ("parser", "text"),
    [(Cbor(), "-_8"), (Cbor(bytes_as="base64"), "+/8="), (Cbor(bytes_as="hex"), "fbff")],
)
def test_byte_strings_are_written_as_the_flow_says(parser: Cbor, text: str) -> None:
    (event,) = parser.parse(under_x("42fbff"))

    assert event == {"x": text}


def test_integer_keys_are_written_in_decimal_where_the_flow_says_so() -> None:
    (event,) = Cbor(integer_keys=True).parse(bytes.fromhex("a30102200361780a"))

    assert event == {"1": 2, "-1": 3, "x": 10}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("a20102613103", "a key is repeated within an object: as text, and as an integer"),
        ("a201020103", "Duplicate map key: 1"),
        ("a1f502", "key True is neither text nor an integer"),
        ("a1810102", "key (1,) is neither text nor an integer"),
        ("a1fb3ff199999999999a02", "key 1.1 is neither text nor an integer"),
        ("a13bffffffffffffffff02", "beyond 64 bits"),
    ],
)
def test_other_keys_are_malformed_even_then(message: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Cbor(integer_keys=True).parse(bytes.fromhex(message)))

    assert why in str(refusal.value)


def test_a_tag_that_the_flow_ignores_leaves_what_it_stands_before() -> None:
    parser = Cbor(tags_ignored=(4, 37))

    (event,) = parser.parse(under_x("82c48221196ab3d8254101"))

    assert event == {"x": [[-2, 27315], "AQ"]}


def test_events_are_found_where_the_flow_says() -> None:
    message = cbor2.dumps({"serial": "s1", "data": {"readings": [{"t": 1}, {"t": 2}]}})

    found = list(Cbor(events_at="data.readings", shared_fields=("serial",)).parse(message))

    assert found == [{"serial": "s1", "t": 1}, {"serial": "s1", "t": 2}]


def test_the_deepest_nesting_allowed_is_read() -> None:
    message = under_x("81" * (DEPTH_MAX - 1) + "01")

    found = list(Cbor().parse(message))

    assert len(found) == 1


@pytest.mark.parametrize("item", ["81" * DEPTH_MAX + "01", "9f" * 100_000, "d9d9f7" * DEPTH_MAX])
def test_one_level_too_deep_is_malformed(item: str) -> None:
    with pytest.raises(MalformedMessage, match=r"nesting depth \(64\) exceeded"):
        list(Cbor().parse(under_x(item)))


def test_more_values_than_allowed_are_malformed() -> None:
    message = b"\x9f" + b"\xa0" * (VALUES_MAX + 1) + b"\xff"

    with pytest.raises(MalformedMessage, match="more than 1000000 values"):
        list(Cbor().parse(message))


@pytest.mark.parametrize("opening", ["9b7fffffffffffffff", "bb7fffffffffffffff6161", "5a7fffffff"])
def test_a_length_that_is_not_there_costs_no_memory(opening: str) -> None:
    message = bytes.fromhex(opening * (DEPTH_MAX - 1))

    tracemalloc.start()
    with pytest.raises(MalformedMessage):
        list(Cbor().parse(message))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 1 << 20


def test_a_bignum_of_a_megabyte_costs_no_time() -> None:
    message = under_x("c25a000f4240" + "ff" * 1_000_000)

    started_s = time.process_time()
    with pytest.raises(MalformedMessage, match="bignum of 1000000 bytes"):
        list(Cbor().parse(message))

    assert time.process_time() - started_s < 1


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


@given(event=st.dictionaries(texts, values, max_size=4), is_open=st.booleans())
def test_every_value_that_json_has_comes_back(event: dict[str, object], *, is_open: bool) -> None:
    message = cbor2.dumps(event, indefinite_containers=is_open)

    found = list(Cbor().parse(message))

    assert found == [event]
