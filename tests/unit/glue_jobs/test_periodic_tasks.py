"""A task beside a query is repeated, whatever fails for a while, and ends with the query."""

import threading
from collections.abc import Callable, Sequence

import pytest

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.supervisor import PeriodicTask

WAIT_S = 10.0


class UnavailableError(FleetlaneError):
    """Passes by itself."""


class Runs:
    """A query that runs for so many pauses."""

    isActive = True  # noqa: N815 - Spark's name

    def __init__(self, pauses: int, *, fails: bool = False) -> None:
        self.pauses, self.fails = pauses, fails
        self.waited_s = list[int]()

    def awaitTermination(self, timeout: int) -> bool | None:  # noqa: N802 - Spark's
        self.pauses -= 1
        self.waited_s.append(timeout)
        if self.pauses < 0 and self.fails:
            raise RuntimeError(timeout)
        return self.pauses < 0

    def stop(self) -> None: ...


def run_to_the_end(task: PeriodicTask, query: Runs) -> None:
    """Run it beside the query, and wait until its thread is over."""
    before = set(threading.enumerate())
    task.run_beside(query)
    for thread in set(threading.enumerate()) - before:
        thread.join(WAIT_S)


def calls_of(run: Callable[[], None], query: Runs, *, is_first_at_once: bool = False) -> list[str]:
    """What was called, once the thread is over."""
    calls = list[str]()

    def noted() -> None:
        calls.append("run")
        run()

    task = PeriodicTask(
        name="a test",
        run=noted,
        interval_s=1,
        is_first_at_once=is_first_at_once,
        at_end=lambda: calls.append("end"),
    )
    run_to_the_end(task, query)
    return calls


def raising(error: Exception) -> Callable[[], None]:
    def run() -> None:
        raise error

    return run


def test_it_runs_after_each_pause_and_ends_with_the_query() -> None:
    assert calls_of(lambda: None, Runs(2)) == ["run", "run", "end"]


def test_the_first_run_may_come_at_once() -> None:
    assert calls_of(lambda: None, Runs(1), is_first_at_once=True) == ["run", "run", "end"]


def test_an_outage_ends_nothing() -> None:
    assert calls_of(raising(UnavailableError()), Runs(2)) == ["run", "run", "end"]


def test_an_unexpected_error_ends_nothing() -> None:
    assert calls_of(raising(RuntimeError("Kafka")), Runs(2)) == ["run", "run", "end"]


def test_a_query_that_failed_has_no_orderly_end() -> None:
    assert calls_of(lambda: None, Runs(1, fails=True)) == ["run"]


@pytest.mark.parametrize(
    ("is_first_at_once", "lasts_s", "waited_s"),
    [
        pytest.param(False, (1, 10, 2), [5, 5, 30, 6], id="as long as the last call"),
        pytest.param(True, (60, 1, 10, 2), [5, 5, 30, 6], id="but not after a cold start"),
    ],
)
def test_what_takes_long_rests_the_longer(
    *, is_first_at_once: bool, lasts_s: Sequence[float], waited_s: list[float]
) -> None:
    now_s, query, lasts = [0.0], Runs(3), iter(lasts_s)

    def run() -> None:
        now_s[0] += next(lasts)

    task = PeriodicTask(
        name="a test",
        run=run,
        interval_s=5,
        is_first_at_once=is_first_at_once,
        rests=3,
        monotonic=lambda: now_s[0],
    )

    run_to_the_end(task, query)

    assert query.waited_s == waited_s


def test_in_its_caller_s_thread_it_runs_at_once_and_then_once_an_interval() -> None:
    calls, now_s = list[float](), [100.0]
    task = PeriodicTask(
        name="a test", run=lambda: calls.append(now_s[0]), interval_s=10, monotonic=lambda: now_s[0]
    )

    for now_s[0] in (100.0, 109.0, 110.0, 119.0):
        task.run_if_due()

    assert calls == [100.0, 110.0]
