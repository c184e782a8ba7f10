from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN, hour_bucket, millis_from_rfc3339, rfc3339

every_millisecond = st.integers(MILLIS_MIN, MILLIS_MAX)

GOLDEN = {
    0: "1970-01-01T00:00:00.000Z",
    -1: "1969-12-31T23:59:59.999Z",
    999: "1970-01-01T00:00:00.999Z",
    1_793_714_709_123: "2026-11-03T14:05:09.123Z",
    951_825_600_000: "2000-02-29T12:00:00.000Z",
    MILLIS_MIN: "0001-01-01T00:00:00.000Z",
    MILLIS_MAX: "9999-12-31T23:59:59.999Z",
}


@pytest.mark.parametrize(("millis", "text"), GOLDEN.items())
def test_a_time_is_written_as_the_golden_table_says(millis: int, text: str) -> None:
    assert rfc3339(millis) == text


@given(every_millisecond)
@example(MILLIS_MIN)
@example(MILLIS_MAX)
def test_a_written_time_reads_back_exactly(millis: int) -> None:
    assert millis_from_rfc3339(rfc3339(millis)) == millis


@given(every_millisecond)
def test_a_time_is_written_as_the_standard_library_writes_it(millis: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)

    written = rfc3339(millis)

    assert written == moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@given(every_millisecond)
def test_an_hour_bucket_is_the_start_of_the_written_time(millis: int) -> None:
    assert hour_bucket(millis) == rfc3339(millis)[:13]


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_with_any_offset_reads_as_the_same_moment(moment: datetime) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    exact = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    has_whole_minutes = (whole.utcoffset() or timedelta()) % timedelta(minutes=1) == timedelta()

    found = millis_from_rfc3339(whole.isoformat())

    assert found == (exact if has_whole_minutes else None)  # RFC 3339 has no seconds of offset


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:01z", 1000),
        ("1970-01-01 00:00:01Z", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.0019999Z", 1),
        ("1970-01-01T00:00:00.123456789012Z", 123),
        ("1969-12-31T23:59:59.9999Z", -1),
    ],
)
def test_every_form_of_rfc_3339_is_read(text: str, millis: int) -> None:
    assert millis_from_rfc3339(text) == millis


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00Z",
        "1970-01-01T00:00:00,5Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01x00:00:00Z",
        "1970-W01-4T00:00:00Z",
        "19700101T000000Z",
        "1970-01-01T00:00:00+01",
        "1970-01-01T00:00:00+01:00:30",
        "1970-01-01T00:00:00+24:00",
        "1970-02-30T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z\n",
        "١٩٧٠-01-01T00:00:00Z",
        "1970-01-01T00:00:00\ud800",
    ],
)
def test_what_is_no_rfc_3339_time_is_none(text: str) -> None:
    assert millis_from_rfc3339(text) is None


@given(st.text() | st.from_regex(r"[0-9T:Zz.+ -]{15,35}", fullmatch=True))
def test_any_text_at_all_reads_as_a_number_or_none(text: str) -> None:
    assert isinstance(millis_from_rfc3339(text), int | None)
