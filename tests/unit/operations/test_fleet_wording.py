"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.wording import counted, duration, micros, moment, number, percent, size


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (1, 3, "33.3 %"),
        (0, 7, "0 %"),
        (7, 7, "100 %"),
        (1, 2_000, "under 0.1 %"),
        (1_999, 2_000, "over 99.9 %"),
        (10, 100, "10 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_none(part: int, whole: int, words: str) -> None:
    assert plain(percent(part, whole)) == words


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_only_all_and_none_look_so(part: int, whole: int) -> None:
    words = plain(percent(min(part, whole), whole))

    assert (words == "100 %") == (part >= whole)
    assert (words == "0 %") == (part == 0)


def test_a_share_of_nothing_is_a_dash() -> None:
    assert percent(0, 0) == number(None)


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (1_550, "1.6 kB"),
        (262_144, "262 kB"),
        (999_600, "1 MB"),
    ],
)
def test_sizes_have_the_unit_that_suits(size_bytes: int, words: str) -> None:
    assert plain(size(size_bytes)) == words


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [
        (250, "250 ms"),
        (60_000, "1 min"),
        (HOUR_MS * 3 // 2, "1.5 h"),
        (DAY_MS, "1 day"),
        (DAY_MS * 9, "9 days"),
        (-2_000, "\N{MINUS SIGN}2 s"),
    ],
)
def test_lengths_have_the_unit_that_suits(duration_ms: int, words: str) -> None:
    assert plain(duration(duration_ms)) == words


def test_microseconds_have_the_unit_that_suits() -> None:
    assert [plain(micros(time_us)) for time_us in (420, 1_500, 2_000_000)] == [
        "420 µs",
        "1.5 ms",
        "2 s",
    ]


def test_a_moment_is_reported_in_utc() -> None:
    assert moment(1_794_000_000_000) == "6 November 2026, 21:20 UTC"


def test_one_is_no_plural() -> None:
    assert [counted(1, "device"), counted(2_000, "device")] == ["1 device", "2,000 devices"]
