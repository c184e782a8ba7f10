import threading
import time
from contextlib import suppress

import pytest

from clients.stale_if_error import StaleIfErrorCache
from fleetlane.events.errors import FleetlaneError

LONG_S = 60.0


class AwayError(FleetlaneError):
    """The source does not answer."""


class Source:
    """Gives what it was set to, once it is ``open``; counts how often it is asked."""

    def __init__(self, value: str | None = "first") -> None:
        self.value, self.asked = value, 0
        self.open = threading.Event()
        self.open.set()

    def read(self) -> str:
        self.asked += 1
        assert self.open.wait(LONG_S)
        if self.value is None:
            raise AwayError("down")
        return self.value


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def known(
    source: Source, clock: Clock, *, wait_s: float | None = LONG_S
) -> StaleIfErrorCache[str, AwayError]:
    return StaleIfErrorCache(
        source.read, unanswered=AwayError("not yet"), max_age_s=15, wait_s=wait_s, monotonic=clock
    )


@pytest.mark.parametrize("wait_s", [None, LONG_S])
def test_a_young_value_is_not_read_again(wait_s: float | None) -> None:
    source = Source()
    value = known(source, Clock(), wait_s=wait_s)

    given = {value.current() for _ in range(10)}

    assert (given, source.asked) == ({"first"}, 1)


@pytest.mark.parametrize("wait_s", [None, LONG_S])
def test_an_old_value_is_read_again(wait_s: float | None) -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=wait_s)
    value.current()
    source.value, clock.now_s = "second", 15

    assert value.current() == "second"


@pytest.mark.parametrize("wait_s", [None, LONG_S])
def test_whoever_needs_a_younger_value_has_it_read_again(wait_s: float | None) -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=wait_s)
    value.current()
    source.value, clock.now_s = "second", 1

    given = value.current(), value.current(max_age_s=1)

    assert given == ("first", "second")


@pytest.mark.parametrize("wait_s", [None, LONG_S])
def test_the_last_known_stays_while_reading_fails(wait_s: float | None) -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=wait_s)
    value.current()
    source.value, clock.now_s = None, 15

    assert value.current() == "first"


@pytest.mark.parametrize("wait_s", [None, LONG_S])
def test_a_failure_is_followed_by_no_other_read_for_a_while(wait_s: float | None) -> None:
    source = Source(None)
    value = known(source, Clock(), wait_s=wait_s)

    for _ in range(10):
        with pytest.raises(AwayError, match="down"):
            value.current(max_age_s=0)

    assert source.asked == 1


def test_nobody_waits_for_a_source_that_hangs() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=0)
    source.open.clear()

    with pytest.raises(AwayError, match="not yet"):
        value.current()

    source.open.set()


def test_the_last_known_is_given_while_a_read_is_under_way() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=0.01)
    _until(value, "first")
    source.open.clear()
    source.value, clock.now_s = "second", 15

    given = [value.current() for _ in range(5)]
    while source.asked < 2:
        time.sleep(0.001)

    source.open.set()
    assert (given, source.asked) == (["first"] * 5, 2)


def test_what_a_slow_read_finds_is_there_for_whoever_asks_later() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=0)
    source.open.clear()
    with pytest.raises(AwayError):
        value.current()

    source.open.set()

    _until(value, "first")
    assert source.asked == 1


def test_what_a_reader_finds_that_stood_still_meanwhile_is_as_old_as_when_it_began() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock, wait_s=0.01)
    _until(value, "first")
    source.open.clear()
    clock.now_s = 15
    value.current()
    reader = value._reader
    assert reader is not None
    while source.asked < 2:
        time.sleep(0.001)
    clock.now_s = 3_600
    source.open.set()
    reader.join(LONG_S)

    source.value = "second"

    _until(value, "second")


def test_all_wait_for_the_first_value() -> None:
    source, given = Source(), []
    value = known(source, Clock())
    source.open.clear()
    threads = [threading.Thread(target=lambda: given.append(value.current())) for _ in range(8)]
    for thread in threads:
        thread.start()

    source.open.set()

    for thread in threads:
        thread.join(LONG_S)
    assert (given, source.asked) == (["first"] * 8, 1)


def _until(value: StaleIfErrorCache[str, AwayError], wanted: str) -> None:
    """Ask, however long the reading thread takes."""
    with suppress(AwayError):
        value.current()
    reader = value._reader
    assert reader is not None
    reader.join(LONG_S)
    assert value.current() == wanted


def test_a_fresh_value_is_read_when_it_is_too_old() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock)
    value.current()
    source.value, clock.now_s = "second", 1.0

    assert value.fresh(max_age_s=1) == "second"


def test_no_value_is_fresh_while_reading_fails_and_reading_is_not_repeated_at_once() -> None:
    source, clock = Source(), Clock()
    value = known(source, clock)
    value.current()
    source.value, clock.now_s = None, 1.0

    for _ in range(10):
        with pytest.raises(AwayError, match="down"):
            value.fresh(max_age_s=1)

    assert (value.current(), source.asked) == ("first", 2)
