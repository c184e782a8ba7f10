"""Which hours of which devices changed, and when."""

from itertools import permutations
from typing import Any, Final

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed
from fleetlane.events.times import HOUR_MS
from readers.buckets import Bucket, ChangedBuckets

HOUR: Final = 500_000
ARRIVAL_MS: Final = HOUR * HOUR_MS + 60_000
OVER_MS: Final = (HOUR + 1) * HOUR_MS


def a_row(**facts: Any) -> Parsed:
    usual = {
        "id": "m-1",
        "attempt": 1,
        "device_id": "d-1",
        "stream": "gps",
        "lane": Lane.STANDARD,
        "source_topic": "raw.standard",
        "source_partition": 0,
        "source_offset": 0,
        "outcome": Outcome.PARSED,
        "parsed_ms": ARRIVAL_MS + 1_000,
        "received_ms": ARRIVAL_MS,
    }
    return Parsed(**{**usual, **facts})


def changed_by(*rows: Parsed, parts: int = 1) -> ChangedBuckets:
    changed = ChangedBuckets(parts=parts)
    changed.fold(rows)
    return changed


def test_a_message_is_in_the_hour_of_its_arrival_whatever_its_events_say() -> None:
    row = a_row(first_event_ms=0, last_event_ms=10 * OVER_MS)

    quiet = changed_by(row).quiet(OVER_MS + 10, quiet_ms=10)

    assert quiet == {Bucket("gps", HOUR, 0): row.parsed_ms}


def test_an_hour_that_goes_on_is_not_quiet() -> None:
    assert changed_by(a_row()).quiet(OVER_MS + 9, quiet_ms=10) == {}


def test_an_hour_that_is_over_and_changed_is_quiet_some_time_after_the_change() -> None:
    replayed = changed_by(a_row(), a_row(parsed_ms=2 * OVER_MS, revision=1))

    at = [len(replayed.quiet(2 * OVER_MS + after_ms, quiet_ms=10)) for after_ms in (9, 10)]

    assert at == [0, 1]


def test_rows_may_come_in_any_order_and_twice() -> None:
    rows = [a_row(), a_row(parsed_ms=ARRIVAL_MS + 9), a_row()]

    found = [changed_by(*order).quiet(OVER_MS, quiet_ms=0) for order in permutations(rows)]

    assert found == [{Bucket("gps", HOUR, 0): ARRIVAL_MS + 1_000}] * 6


def test_attempts_without_events_change_nothing() -> None:
    rows = (a_row(outcome=one) for one in Outcome if one is not Outcome.PARSED)

    assert changed_by(*rows).quiet(OVER_MS, quiet_ms=0) == {}


def test_devices_are_spread_over_the_parts_and_stay_in_theirs() -> None:
    devices = [f"d-{number}" for number in range(200)]
    rows = [a_row(device_id=one) for one in devices * 2]

    quiet = changed_by(*rows, parts=4).quiet(OVER_MS, quiet_ms=0)

    assert {one.part for one in quiet} == {0, 1, 2, 3}


def test_a_bucket_that_changed_since_it_was_done_is_not_forgotten() -> None:
    changed = changed_by(a_row())
    bucket = Bucket("gps", HOUR, 0)
    changed.forget(bucket, ARRIVAL_MS)
    kept = dict(changed.quiet(OVER_MS, quiet_ms=0))
    changed.forget(bucket, ARRIVAL_MS + 1_000)

    assert (len(kept), changed.quiet(OVER_MS, quiet_ms=0)) == (1, {})


def test_the_oldest_hour_comes_first() -> None:
    later, earlier = a_row(received_ms=ARRIVAL_MS + HOUR_MS), a_row()

    quiet = changed_by(later, earlier).quiet(3 * OVER_MS, quiet_ms=0)

    assert [one.hour for one in quiet] == [HOUR, HOUR + 1]
