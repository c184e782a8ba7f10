import pytest

from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from fleetlane.events.topics import CanonicalKey, canonical_keys, raw_key


def test_a_raw_records_key_is_its_arrival_in_decimal() -> None:
    assert raw_key(1_793_714_709_123) == b"1793714709123"


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (CanonicalKey.DEVICE_HOUR, b"d-17/2026-11-03T14"),
        (CanonicalKey.DEVICE, b"d-17"),
        (CanonicalKey.EVENT_MILLIS, b"1793714709123"),
    ],
)
def test_a_canonical_key_is_the_designs(kind: CanonicalKey, key: bytes) -> None:
    key_of = canonical_keys(kind, device_id="d-17")

    assert key_of(1_793_714_709_123) == key


@pytest.mark.parametrize(
    ("millis", "hour"),
    [
        (MILLIS_MIN, b"0001-01-01T00"),
        (-1, b"1969-12-31T23"),
        (-3_600_000, b"1969-12-31T23"),
        (-3_600_001, b"1969-12-31T22"),
        (0, b"1970-01-01T00"),
        (3_599_999, b"1970-01-01T00"),
        (3_600_000, b"1970-01-01T01"),
        (MILLIS_MAX, b"9999-12-31T23"),
    ],
)
def test_an_hour_starts_at_its_first_millisecond(millis: int, hour: bytes) -> None:
    key_of = canonical_keys(CanonicalKey.DEVICE_HOUR, device_id="d")

    assert key_of(millis) == b"d/" + hour


def test_a_negative_event_time_keeps_its_sign() -> None:
    key_of = canonical_keys(CanonicalKey.EVENT_MILLIS, device_id="d")

    assert key_of(-5) == b"-5"
