import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import DEPTH_MAX, json_value

quick = settings(max_examples=150, deadline=None)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
confusing_texts = texts | st.sampled_from(['":', '" :', '{"a":1}', "\\", '\\":', "a:b", ""])
integers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | integers | floats | confusing_texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(confusing_texts, inner, max_size=4),
    max_leaves=20,
)
white_space = st.text(" \t\r\n", max_size=3)

ACCEPTED: dict[str, tuple[bytes, object]] = {
    "null": (b"null", None),
    "a lone number": (b"-0.5e1", -5.0),
    "white space around": (b" \t\r\n[1]\n", [1]),
    "white space before a colon": (b'{"a" \r\n\t :1}', {"a": 1}),
    "an escaped pair of surrogates": (rb'"\ud83d\ude00"', "\N{GRINNING FACE}"),
    "an escaped zero": (rb'"\u0000"', "\0"),
    "the lowest integer": (b"-9223372036854775808", -(2**63)),
    "the highest integer": (b"18446744073709551615", 2**64 - 1),
    "a large float": (b"1e19", 1e19),
    "a float that underflows": (b"1e-400", 0.0),
    "an empty key": (b'{"":{}}', {"": {}}),
    "one key in two objects": (b'[{"a":1},{"a":{"a":2}}]', [{"a": 1}, {"a": {"a": 2}}]),
    "a string that looks like keys": (rb'{"a":"\"a\":1"}', {"a": '"a":1'}),
    "keys that differ in case": (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
}

REFUSED = {
    "an empty body": (b"", "zero-length"),
    "white space alone": (b" \n", "not JSON"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "two documents": (b"{} {}", "character 3 of 5"),
    "a trailing comma": (b"[1,]", "character 2 of 4"),
    "a comment": (b"[1] // one", "character 4"),
    "single quotes": (b"{'a':1}", "character 1"),
    "NaN": (b"[NaN]", "character 1"),
    "Infinity": (b"-Infinity", "not JSON"),
    "a float that overflows": (b"[1e400]", "infinity"),
    "a leading zero": (b"01", "leading zero"),
    "a plus sign": (b"+1", "not JSON"),
    "a raw control character": (b'"\n"', "control character"),
    "a lone high surrogate": (rb'"\ud83d"', "surrogate"),
    "a lone low surrogate": (rb'"\ude00"', "surrogate"),
    "a surrogate in UTF-8": (b'"\xed\xa0\x80"', "byte 0xed at offset 1"),
    "Latin-1": (b'{"a":"\xe9"}', "byte 0xe9 at offset 6"),
    "UTF-16": ("{}".encode("utf-16"), "not UTF-8"),
    "a cut document": (b'{"a":[1', "character 7 of 7"),
    "an integer one too high": (b'{"a":18446744073709551616}', "18446744073709551616 is beyond"),
    "an integer one too low": (b"[-9223372036854775809]", "-9223372036854775809 is beyond"),
    "an integer of 300 digits": (b"9" * 300, "beyond 64 bits"),
    "an integer of 9,000 digits": (b"9" * 9000, "not JSON"),
    "a repeated key": (b'{"a":1,"b":2,"a":1}', "key 'a' is repeated"),
    "a repeated key before white space": (b'{"a":1,"a" :1}', "key 'a' is repeated"),
    "a repeated key, escaped": (rb'{"a":1,"\u0061":1}', "key 'a' is repeated"),
    "a repeated key that hid depth": (
        b'{"a":' + b"[" * 1000 + b"]" * 1000 + b',"a":1}',
        "key 'a' is repeated",
    ),
    "a depth that orjson refuses": (b"[" * 100_000, "depth limit"),
}


@pytest.mark.parametrize(("text", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_json_is_read(text: bytes, value: object) -> None:
    found = json_value(text)

    assert found == value


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_exactly_json_is_malformed(text: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        json_value(text)

    assert why in str(refusal.value)


def test_the_deepest_nesting_allowed_is_read() -> None:
    text = b'{"a":' * (DEPTH_MAX // 2) + b"[" * (DEPTH_MAX // 2)

    found = json_value(text + b"]" * (DEPTH_MAX // 2) + b"}" * (DEPTH_MAX // 2))

    assert isinstance(found, dict)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_one_level_too_deep_is_malformed(opening: bytes, closing: bytes) -> None:
    levels = DEPTH_MAX + 1
    text = opening * levels + b"1" + closing * levels

    with pytest.raises(MalformedMessage, match=f"deeper than {DEPTH_MAX} levels"):
        json_value(text)


@quick
@given(value=values, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_every_value_that_json_has_comes_back(
    value: object, indent: int | None, *, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()

    found = json_value(text)

    assert found == value


@quick
@given(text=st.binary(max_size=60) | st.text('[]{}":,\\ u0a1.e-9', max_size=30).map(str.encode))
def test_any_bytes_are_a_finite_value_or_malformed(text: bytes) -> None:
    try:
        found = json_value(text)
    except MalformedMessage:
        return

    assert not isinstance(found, float) or math.isfinite(found)


@st.composite
def texts_with_a_repeated_key(draw: st.DrawFn) -> str:
    """A document with an object, at any depth, that holds one key twice."""
    around = draw(st.lists(st.sampled_from(["array", "object"]), max_size=6))
    key = draw(confusing_texts)
    others = draw(st.dictionaries(confusing_texts, values, max_size=3))
    members = [(key, draw(values)), *others.items(), (key, draw(values))]
    text = _object(draw, draw(st.permutations(members)))
    for kind in around:
        sibling = json.dumps(draw(values))
        text = f"[{sibling},{text}]" if kind == "array" else f'{{"x":{text},"y":{sibling}}}'
    return text


def _object(draw: st.DrawFn, members: list[tuple[str, object]]) -> str:
    written = [
        json.dumps(key, ensure_ascii=draw(st.booleans()))
        + draw(white_space)
        + ":"
        + draw(white_space)
        + json.dumps(value)
        for key, value in members
    ]
    return "{" + ",".join(written) + "}"


@quick
@given(text=texts_with_a_repeated_key())
def test_a_repeated_key_is_found_wherever_it_stands(text: str) -> None:
    with pytest.raises(MalformedMessage, match="repeated"):
        json_value(text.encode())
