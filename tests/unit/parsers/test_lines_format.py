import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.lines import LINE_BYTES_MAX, Lines

READING = Lines(
    pattern=r"(?P<celsius>\S+) (?P<place>\w+)(?: (?P<is_open>true|false))?",
    types={"celsius": "float", "is_open": "bool"},
)


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (b"", []),
        (b"\n \r\n", []),
        (b"21.5 oven", [{"celsius": 21.5, "place": "oven", "is_open": None}]),
        (b"21.5 oven\r\n", [{"celsius": 21.5, "place": "oven", "is_open": None}]),
        (b"\xef\xbb\xbf1 a true\n", [{"celsius": 1.0, "place": "a", "is_open": True}]),
        (
            b"1 a\n\n2 b false",
            [
                {"celsius": 1.0, "place": "a", "is_open": None},
                {"celsius": 2.0, "place": "b", "is_open": False},
            ],
        ),
    ],
)
def test_each_line_that_is_not_blank_is_an_event(
    message: bytes, events: list[dict[str, object]]
) -> None:
    found = list(READING.parse(message))

    assert found == events


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"1 a\nhello", "line 2: b'hello' does not fit the pattern"),
        (b"1 a trueish", "line 1: b'1 a trueish' does not fit"),
        (b" 1 a", "line 1: b' 1 a' does not fit"),
        (b"1 a\rb", "line 1: b'1 a\\rb' does not fit"),
        (b"1 a\nwarm b", "line 2, group 'celsius': 'warm' is not a number"),
        (b"1e999 a", "line 1, group 'celsius': 1e999 is beyond the range of a float"),
        (b"1 a\n2 \xff", "line 2: byte 0xff at offset 2 of the line is not UTF-8"),
        (b"1 a\n" + b"1" * (LINE_BYTES_MAX + 1), "line 2 has 131073 bytes; allowed: 131072"),
    ],
)
def test_a_malformed_line_is_named(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(READING.parse(message))

    assert why in str(refusal.value)


def test_lines_that_do_not_fit_are_skipped_where_the_flow_says_so() -> None:
    parser = Lines(pattern=r"t=(?P<t>\d+)", types={"t": "int"}, unmatched="skip")

    found = list(parser.parse(b"booting\nt=1\n# comment\nt=2\n"))

    assert found == [{"t": 1}, {"t": 2}]


def test_groups_are_characters_and_not_bytes() -> None:
    parser = Lines(pattern="(?P<first>.)(?P<rest>.*)")

    found = list(parser.parse("\u00fc\u6c34\U00010151".encode()))

    assert found == [{"first": "\u00fc", "rest": "\u6c34\U00010151"}]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "no named group"),
        ("([0-9]+)", "no named group"),
        ("(?P<a>[0-9]", "missing )"),
        ("(?P<a>x)(?P<a>y)", "two groups have one name"),
        (r"(?P<a>.)\1", "invalid escape sequence"),
        ("(?P<a>.)(?=b)", "invalid perl operator"),
        ("(?P<a>((x{100}){100}){100})", "pattern"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match="pattern") as refusal:
        Lines(pattern=pattern)

    assert why in str(refusal.value)


def test_a_type_for_no_group_is_refused() -> None:
    with pytest.raises(ValueError, match="no group 'b', which the option types names"):
        Lines(pattern="(?P<a>.)", types={"b": "int"})


def test_a_pattern_that_backtracks_for_ever_elsewhere_is_answered_at_once() -> None:
    parser = Lines(pattern="(?P<a>(a+)+)b")

    with pytest.raises(MalformedMessage, match="does not fit"):
        list(parser.parse(b"a" * LINE_BYTES_MAX))


@given(rows=st.lists(st.tuples(st.integers(-(2**63), 2**64 - 1), st.text(r"\.a \"'x"))))
def test_lines_come_back_as_written(rows: list[tuple[int, str]]) -> None:
    parser = Lines(pattern="(?P<number>[0-9-]+):(?P<text>.*)", types={"number": "int"})

    found = list(parser.parse("\n".join(f"{number}:{text}" for number, text in rows).encode()))

    assert found == [{"number": number, "text": text} for number, text in rows]
