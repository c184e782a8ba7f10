"""How late the lake is, whatever its query does."""

from types import SimpleNamespace
from typing import cast

from pyspark.sql.streaming.listener import StreamingQueryProgress

from glue_jobs.engine.query_listener import LakeLag


class Clock:
    """Does nothing until it is changed."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


def batch(*, behind: str, took_ms: int) -> StreamingQueryProgress:
    source = SimpleNamespace(metrics={"maxOffsetsBehindLatest": behind})
    progress = SimpleNamespace(sources=[source], batchDuration=took_ms)
    return cast("StreamingQueryProgress", progress)


def test_a_lag_grows_while_no_batch_ends() -> None:
    clock = Clock()
    lag = LakeLag("lake_fleet", now_ms=clock)

    clock.ms += 90_000

    assert lag.seconds() == 90


def test_after_a_batch_all_is_there_that_was_when_it_began() -> None:
    clock = Clock()
    lag = LakeLag("lake_fleet", now_ms=clock)

    clock.ms += 90_000
    lag.on_batch(batch(behind="0", took_ms=20_000))

    assert lag.seconds() == 20


def test_a_batch_that_took_in_a_part_alone_makes_nothing_level() -> None:
    clock = Clock()
    lag = LakeLag("lake_fleet", now_ms=clock)

    clock.ms += 90_000
    lag.on_batch(batch(behind="12", took_ms=20_000))

    assert lag.seconds() == 90


def test_an_idle_query_has_all_but_what_waits_for_its_batch_to_fill() -> None:
    clock = Clock()
    lag = LakeLag("lake_fleet", now_ms=clock, waits_ms_max=300_000)

    clock.ms += 900_000
    lag.on_idle()

    assert lag.seconds() == 300
