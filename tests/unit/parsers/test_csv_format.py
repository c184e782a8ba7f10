import csv
import io
import math
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.csv import Csv

quick = settings(max_examples=100, deadline=None)

RFC_4180 = {
    "records on lines": (b"aaa,bbb\r\nzzz,yyy\r\n", [("aaa", "bbb"), ("zzz", "yyy")]),
    "no line break at the end": (b"aaa,bbb\r\nzzz,yyy", [("aaa", "bbb"), ("zzz", "yyy")]),
    "quoted cells": (b'"aaa","bbb"\r\nzzz,yyy', [("aaa", "bbb"), ("zzz", "yyy")]),
    "a line break in quotes": (b'"aaa","b\r\nbb"\r\nzzz,yyy', [("aaa", "b\r\nbb"), ("zzz", "yyy")]),
    "a bare line feed in quotes": (b'"a\na",b', [("a\na", "b")]),
    "a doubled quote": (b'"aaa","b""bb"', [("aaa", 'b"bb')]),
    "a delimiter in quotes": (b'"a,a",b', [("a,a", "b")]),
    "spaces belong to the cell": (b" a , b ", [(" a ", " b ")]),
    "empty cells": (b",", [("", "")]),
    "line feeds alone": (b"a,b\nc,d\n", [("a", "b"), ("c", "d")]),
    "blank lines": (b"a,b\r\n\r\n\nc,d", [("a", "b"), ("c", "d")]),
    "a zero character": (b"a\0,b", [("a\0", "b")]),
    "other line separators": ("a\x0b,\x85\u2028".encode(), [("a\x0b", "\x85\u2028")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("message", "rows"), RFC_4180.values(), ids=RFC_4180)
def test_rows_are_read_as_rfc_4180_writes_them(message: bytes, rows: list[tuple[str, str]]) -> None:
    parser = Csv(columns=("x", "y"))

    found = list(parser.parse(message))

    assert found == [{"x": x, "y": y} for x, y in rows]


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (b"", []),
        (b"t,v\r\n", []),
        (b"t,v\r\n1,2\r\n", [{"t": "1", "v": "2"}]),
        (b"\r\n\r\nt\r\n1", [{"t": "1"}]),
        (b"\xef\xbb\xbft,v\r\n1,2", [{"t": "1", "v": "2"}]),
    ],
)
def test_the_first_row_is_the_header_unless_columns_are_given(
    message: bytes, events: list[dict[str, object]]
) -> None:
    found = list(Csv().parse(message))

    assert found == events


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("int", b"-12", -12),
        ("int", b" +007 ", 7),
        ("int", b"18446744073709551615", 2**64 - 1),
        ("int", b"-9223372036854775808", -(2**63)),
        ("float", b"21.50", 21.5),
        ("float", b".5", 0.5),
        ("float", b"5.", 5.0),
        ("float", b"-1E3", -1000.0),
        ("bool", b"True", True),
        ("bool", b"0", False),
        ("str", b"007", "007"),
        ("int", b"", None),
        ("float", b" ", None),
        ("bool", b"", None),
        ("str", b"", ""),
    ],
)
def test_cells_become_what_their_column_is(kind: str, cell: bytes, value: object) -> None:
    parser = Csv(columns=("x", "y"), types={"y": kind})  # type: ignore[dict-item]

    (event,) = parser.parse(b"a," + cell)

    assert event == {"x": "a", "y": value}


@pytest.mark.parametrize(
    ("kind", "cell", "why"),
    [
        ("int", "1.0", "'1.0' is not an integer"),
        ("int", "1_000", "'1_000' is not an integer"),
        ("int", "\u0661", "is not an integer"),
        ("int", "18446744073709551616", "18446744073709551616 is beyond 64 bits"),
        ("int", "-9223372036854775809", "-9223372036854775809 is beyond 64 bits"),
        ("int", "9" * 5000, "is not an integer"),
        ("float", "nan", "'nan' is not a number"),
        ("float", "Infinity", "'Infinity' is not a number"),
        ("float", "1e999", "1e999 is beyond the range of a float"),
        ("float", "1 2", "'1 2' is not a number"),
        ("float", "1" * 100_000 + "x", "is not a number"),
        ("bool", "yes", "'yes' is none of: true, 1, false, 0"),
    ],
)
def test_a_cell_that_its_column_does_not_allow_is_malformed(kind: str, cell: str, why: str) -> None:
    parser = Csv(types={"y": kind})  # type: ignore[dict-item]

    with pytest.raises(MalformedMessage) as refusal:
        list(parser.parse(f"x,y\r\na,1\r\na,{cell}".encode()))

    assert str(refusal.value).startswith("line 3, column 'y': ")
    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"x,y\n1,2\n1\n", "line 3: 1 cells for 2 columns"),
        (b"x,y\n1,2,3\n", "line 2: 3 cells for 2 columns"),
        (b"\nx,y,x\n", "line 2: column 'x' is repeated"),
        (b'x,y\n"1"2,3', "line 2: ',' expected after '\"'"),
        (b'x,y\n"1,3\n', "line 2: unexpected end of data"),
        (b"x,y\n1,\xe9\n", "line 2: byte 0xe9 at offset 2 of the line is not UTF-8"),
        (b"x\n" + b"1" * 131_073, "line 2: field larger than field limit (131072)"),
    ],
)
def test_rows_that_do_not_fit_are_malformed_by_line(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Csv().parse(message))

    assert why in str(refusal.value)


def test_a_header_without_a_typed_column_is_malformed() -> None:
    parser = Csv(types={"celsius": "float"})

    with pytest.raises(MalformedMessage, match="line 1: no column 'celsius'"):
        list(parser.parse(b"t,fahrenheit\n1,2"))


def test_delimiter_and_quote_can_be_chosen() -> None:
    parser = Csv(delimiter=";", quote="'", columns=("x", "y"))

    found = list(parser.parse(b"'a;a';\"b"))

    assert found == [{"x": "a;a", "y": '"b'}]


def test_without_a_quote_every_character_is_the_cell_s_own() -> None:
    parser = Csv(quote="", columns=("x", "y"))

    found = list(parser.parse(b'"a,b"'))

    assert found == [{"x": '"a', "y": 'b"'}]


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""},
        {"delimiter": "::"},
        {"delimiter": "\n"},
        {"delimiter": '"'},
        {"quote": "''"},
        {"columns": ("x", "x")},
        {"columns": ("x",), "types": {"y": "int"}},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Csv(**options)  # type: ignore[arg-type]


@quick
@given(rows=st.lists(st.tuples(*[st.text('a,"\r\n \u2028', max_size=5)] * 2), max_size=5))
def test_what_csv_writes_comes_back(rows: list[tuple[str, str]]) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("x", "y"), *rows])

    found = list(Csv().parse(written.getvalue().encode()))

    assert found == [{"x": x, "y": y} for x, y in rows]


def _is_finite(event: Mapping[str, object]) -> bool:
    return all(not isinstance(value, float) or math.isfinite(value) for value in event.values())


@quick
@given(message=st.binary(max_size=60) | st.text('19e-.,"\r\n', max_size=40).map(str.encode))
def test_any_bytes_give_finite_events_or_malformed(message: bytes) -> None:
    parser = Csv(columns=("x", "y"), types={"x": "int", "y": "float"})

    try:
        found = list(parser.parse(message))
    except MalformedMessage:
        return

    assert all(_is_finite(event) for event in found)
