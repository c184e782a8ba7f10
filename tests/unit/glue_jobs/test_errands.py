"""What is done beside a query: again and again, whatever passes, and no longer than it runs."""

import threading
from collections.abc import Callable

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.periodic_tasks import Errand

WAIT_S = 10.0


class AwayError(FleetlaneError):
    """Passes by itself."""


class LostError(FleetlaneError):
    """Does not."""


class Runs:
    """A query that runs for so many pauses, and tells when the errand is over."""

    isActive = True  # noqa: N815 - Spark's name

    def __init__(self, pauses: int, *, fails: bool = False) -> None:
        self.pauses, self.fails = pauses, fails

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's
        self.pauses -= 1
        if self.pauses < 0 and self.fails:
            raise RuntimeError(timeout)
        return self.pauses < 0

    def stop(self) -> None: ...


def calls_of(look: Callable[[], None], query: Runs, *, is_first_at_once: bool = False) -> list[str]:
    """What was called, once the thread is over."""
    calls = list[str]()

    def noted() -> None:
        calls.append("look")
        look()

    before = set(threading.enumerate())
    Errand(
        name="a test",
        look=noted,
        every_s=1,
        is_first_at_once=is_first_at_once,
        lasting=LostError,
        at_end=lambda: calls.append("end"),
    ).run_beside(query)
    for thread in set(threading.enumerate()) - before:
        thread.join(WAIT_S)
    return calls


def raising(error: Exception) -> Callable[[], None]:
    def look() -> None:
        raise error

    return look


def test_it_looks_after_each_pause_and_ends_with_the_query() -> None:
    assert calls_of(lambda: None, Runs(2)) == ["look", "look", "end"]


def test_the_first_look_may_come_at_once() -> None:
    assert calls_of(lambda: None, Runs(1), is_first_at_once=True) == ["look", "look", "end"]


def test_what_passes_ends_nothing() -> None:
    assert calls_of(raising(AwayError()), Runs(2)) == ["look", "look", "end"]


def test_what_nobody_thought_of_ends_nothing() -> None:
    assert calls_of(raising(RuntimeError("Kafka")), Runs(2)) == ["look", "look", "end"]


def test_what_does_not_pass_ends_it() -> None:
    assert calls_of(raising(LostError()), Runs(2)) == ["look"]


def test_a_query_that_failed_has_no_end_to_tell_of() -> None:
    assert calls_of(lambda: None, Runs(1, fails=True)) == ["look"]
