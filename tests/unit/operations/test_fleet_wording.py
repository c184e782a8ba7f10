"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.wording import (
    counted,
    duration,
    lag_span,
    micros,
    moment,
    number,
    percent,
    size,
    size_span,
)


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
        (2_880_000_000_000_000, "2.9 PB"),
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


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (None, 100, "up to 100 B"),
        (100, 1_000, "100 B\N{EN DASH}1 kB"),
        (1_000, 10_000, "1\N{EN DASH}10 kB"),
        (100_000, 256 * 1024, "100 kB\N{EN DASH}256 KiB"),
        (4_500_000, 64 << 20, "4.5 MB\N{EN DASH}64 MiB"),
        (64 << 20, None, "over 64 MiB"),
    ],
)
def test_a_range_of_sizes_names_both_its_ends(
    low: int | None, high: int | None, words: str
) -> None:
    assert plain(size_span(low, high)) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (None, -1, "clock ahead"),
        (-1, 10_000, "up to 10 s"),
        (10_000, 60_000, "10 s\N{EN DASH}1 min"),
        (HOUR_MS, 6 * HOUR_MS, "1\N{EN DASH}6 h"),
        (DAY_MS, 7 * DAY_MS, "1\N{EN DASH}7 days"),
        (7 * DAY_MS, None, "over 7 days"),
    ],
)
def test_a_range_of_lags_names_both_its_ends(low: int | None, high: int | None, words: str) -> None:
    assert plain(lag_span(low, high)) == words


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
