"""The canary's check: what is missing is counted and named, neither too early nor for ever."""

import logging
from collections.abc import Collection, Mapping
from functools import partial

import pytest

from fleetlane.events.canary import INTERVAL_MS, CanaryMessage, messages_between
from fleetlane.events.lanes import Lane
from glue_jobs.fleet_watch.canary_check import LOOKED_BACK_MS, check_canaries, due_ms, missing

BEGAN_MS = 1_790_000_040_000
LONG_AFTER_MS = BEGAN_MS + 6 * 3_600_000


class Check:
    """The check on a lake in memory, and what it published."""

    def __init__(self, *, now_ms: int, without: Collection[str] = (), is_enrolled: bool = True):
        self.now_ms, self._without, self._is_enrolled = now_ms, without, is_enrolled
        self.published: list[Mapping[str, float]] = []
        self.of_lanes: dict[Lane, Mapping[str, float]] = {}
        check_canaries(
            self,
            publish=self.published.append,
            publish_of_lane={lane: partial(self.of_lanes.__setitem__, lane) for lane in Lane},
            now_ms=now_ms,
        )

    def began_ms(self, since_ms: int) -> int | None:
        return max(since_ms, BEGAN_MS + 400) if self._is_enrolled else None

    def arrived(self, since_ms: int) -> Collection[str]:
        sent = messages_between(since_ms, self.now_ms)
        return {one.raw_id for one in sent} - set(self._without)

    def slowest_ms(self, since_ms: int) -> Mapping[Lane, int]:
        assert since_ms < self.now_ms
        return {Lane.FAST: 700, Lane.SLOW: 9_000}


def message_of(lane: Lane, *, slot_ms: int) -> CanaryMessage:
    of_slot = messages_between(slot_ms, slot_ms + INTERVAL_MS)
    return next(one for one in of_slot if one.lane is lane)


def test_where_all_is_there_the_count_is_0() -> None:
    assert Check(now_ms=LONG_AFTER_MS).published == [{"CanaryMissing": 0}]


@pytest.mark.parametrize("lane", Lane)
def test_a_message_that_is_due_and_not_there_is_counted_and_named(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    gone = message_of(lane, slot_ms=LONG_AFTER_MS - LONG_AFTER_MS % INTERVAL_MS)

    with caplog.at_level(logging.WARNING):
        check = Check(now_ms=gone.slot_ms + due_ms(lane), without={gone.raw_id})

    assert check.published == [{"CanaryMissing": 1}]
    assert gone.raw_id in caplog.text


@pytest.mark.parametrize("lane", Lane)
def test_it_counts_neither_before_it_is_due_nor_long_after(lane: Lane) -> None:
    gone = message_of(lane, slot_ms=BEGAN_MS + 3_600_000)
    due_at_ms = gone.slot_ms + due_ms(lane)

    counts = [
        Check(now_ms=at_ms, without={gone.raw_id}).published[0]["CanaryMissing"]
        for at_ms in (due_at_ms - 1, due_at_ms + LOOKED_BACK_MS - 1, due_at_ms + LOOKED_BACK_MS)
    ]

    assert counts == [0, 1, 0]


def test_a_fast_message_is_missed_within_ten_minutes() -> None:
    assert due_ms(Lane.FAST) <= 600_000


def test_nothing_is_expected_of_the_time_before_the_first_message() -> None:
    first = BEGAN_MS + 10 * INTERVAL_MS
    now_ms = first + due_ms(Lane.FAST) + INTERVAL_MS

    slots = {one.slot_ms for one in missing(set(), began_ms=first, now_ms=now_ms)}

    assert slots == {first, first + INTERVAL_MS}


def test_without_any_message_nothing_is_published_so_that_silence_alarms() -> None:
    check = Check(now_ms=LONG_AFTER_MS, is_enrolled=False)

    assert (check.published, check.of_lanes) == ([], {})


def test_how_long_the_slowest_took_is_published_by_lane() -> None:
    check = Check(now_ms=LONG_AFTER_MS)

    assert check.of_lanes == {Lane.FAST: {"CanaryMs": 700}, Lane.SLOW: {"CanaryMs": 9_000}}
