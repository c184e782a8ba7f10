from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.ingest.intake import next_upload_after_s, slot_s

NOW_MS = 1_793_714_709_123
HOUR_S = 3_600


@pytest.mark.parametrize(
    ("device_id", "window_s", "slot"),
    [("d-1", 3_600, 185), ("d-2", 3_600, 3_064), ("d-1", 86_400, 21_785), ("d-1", 1, 0)],
)
def test_a_device_keeps_its_slot_for_ever(device_id: str, window_s: int, slot: int) -> None:
    assert slot_s(device_id, window_s=window_s) == slot


def test_without_a_window_a_device_receives_nothing() -> None:
    assert next_upload_after_s("d-1", window_s=0, now_ms=NOW_MS) == 0


@given(st.text(min_size=1, max_size=64), st.integers(1, 86_400), st.integers(0, 2 * NOW_MS))
def test_the_answer_leads_to_the_device_s_slot_half_a_window_away_or_later(
    device_id: str, window_s: int, now_ms: int
) -> None:
    wait_s = next_upload_after_s(device_id, window_s=window_s, now_ms=now_ms)

    assert (now_ms // 1000 + wait_s) % window_s == slot_s(device_id, window_s=window_s)
    assert window_s <= 2 * wait_s < 3 * window_s


def test_a_device_that_comes_in_its_slot_is_asked_to_come_a_window_later() -> None:
    first_s = next_upload_after_s("d-1", window_s=HOUR_S, now_ms=NOW_MS)

    second_s = next_upload_after_s("d-1", window_s=HOUR_S, now_ms=NOW_MS + first_s * 1000)

    assert second_s == HOUR_S


def test_a_fleet_that_woke_at_once_comes_back_evenly_spread() -> None:
    devices = [f"d-{number}" for number in range(60_000)]

    minutes = Counter(
        next_upload_after_s(device, window_s=HOUR_S, now_ms=NOW_MS) // 60 for device in devices
    )

    assert max(minutes.values()) < 1.15 * 1_000
    assert min(minutes[minute] for minute in range(31, 89)) > 0.85 * 1_000
