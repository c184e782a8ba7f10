"""Keys of uploads are in the order of their issue, and so are their marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.s3.upload_bucket import NotAnUploadError, issued_since, raw_id_in, upload_key
from fleetlane.events.times import HOUR_MS

RAW_ID = "1" + "0" * 32
millis = st.integers(0, 4_000_000_000_000)


def test_a_key_tells_when_it_was_issued_and_for_which_message() -> None:
    key = upload_key(RAW_ID, issued_millis=1_793_714_705_000)

    assert (key, raw_id_in(key)) == (f"uploads/2026-11-03T14-05/{RAW_ID}", RAW_ID)


@given(millis, millis)
def test_keys_are_in_the_order_of_issue(one: int, other: int) -> None:
    earlier, later = sorted((one // 60_000, other // 60_000))

    keys = [upload_key(RAW_ID, issued_millis=minute * 60_000) for minute in (earlier, later)]

    assert keys == sorted(keys)


@given(millis, millis)
def test_a_position_parts_the_hours_before_from_the_hours_after(at: int, issued: int) -> None:
    key = upload_key(RAW_ID, issued_millis=issued)

    assert (key > issued_since(at)) is (issued // HOUR_MS >= at // HOUR_MS)


@pytest.mark.parametrize("key", ["", "uploads/x", f"payloads/{RAW_ID}", f"uploads/x/{RAW_ID}0"])
def test_another_key_is_no_upload_s(key: str) -> None:
    with pytest.raises(NotAnUploadError):
        raw_id_in(key)
