"""Desired queries are kept running: each starts again after a pause, and holds up no other."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from clients.s3.blocked_messages import BlockedMessagesUnavailableError
from glue_jobs.engine.checkpoint_notes import PlanChangedError
from glue_jobs.engine.ended_queries import EndedQueries
from glue_jobs.engine.supervisor import RESTART_S, DesiredQuery, Supervisor, always_running


class Query:
    """Runs until it is stopped, or ``isActive`` is unset as by a failure."""

    def __init__(self) -> None:
        self.isActive = True
        self.status: dict[str, Any] = {"isTriggerActive": False}
        self.lastProgress: dict[str, Any] | None = None

    def exception(self) -> object:
        return None if self.isActive else "the catalog is unavailable"

    def stop(self) -> None:
        self.isActive = False


class World:
    """Desired queries that can be changed, and what was started for them."""

    def __init__(self, *names: str) -> None:
        self.names, self.settings, self.now_s = names, 0, 0.0
        self.started: list[str] = []
        self.queries: list[Query] = []
        self.refused = self.broken = self.waiting = self.unknown = ""
        self.ended = EndedQueries()
        self.supervisor = Supervisor(self.desired, clock_s=lambda: self.now_s, ended=self.ended)

    def desired(self) -> dict[str, DesiredQuery]:
        return {
            name: DesiredQuery(
                start=self.starting(name),
                settings=self.settings,
                must_wait=partial(self.must_wait, name),
            )
            for name in self.names
        }

    def must_wait(self, name: str) -> bool:
        if name == self.unknown:
            raise BlockedMessagesUnavailableError(name, "connection refused")
        return name == self.waiting

    def starting(self, name: str) -> Callable[[], Query]:
        def start() -> Query:
            if name == self.refused:
                raise PlanChangedError(name, "it is of another cluster")
            if name == self.broken:
                raise RuntimeError("the JVM says no")
            self.started.append(name)
            self.queries.append(Query())
            return self.queries[-1]

        return start


def test_a_query_that_runs_is_left_alone() -> None:
    world = World("lake")

    world.supervisor.check()
    world.supervisor.check()

    assert (world.started, world.queries[0].isActive) == (["lake"], True)


def test_a_query_that_failed_is_started_again_after_a_pause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World("lake")
    world.supervisor.check()
    world.queries[0].isActive = False

    world.supervisor.check()
    world.supervisor.check()
    at_once = len(world.started)
    world.now_s = RESTART_S
    world.supervisor.check()

    assert (at_once, len(world.started)) == (1, 2)
    assert "query lake ended, and is started again: the catalog is unavailable" in caplog.text


def test_a_query_that_cannot_be_started_holds_up_no_other_and_has_its_pause() -> None:
    world = World("gps", "thermo")
    world.refused = "gps"
    world.supervisor.check()

    world.refused = ""
    world.supervisor.check()
    at_once = list(world.started)
    world.now_s = RESTART_S
    world.supervisor.check()

    assert (at_once, world.started) == (["thermo"], ["thermo", "gps"])


def test_whatever_one_start_raises_the_queries_behind_it_are_started() -> None:
    world = World("a", "door", "gps", "thermo")
    world.refused, world.broken, world.unknown = "a", "door", "gps"

    world.supervisor.check()

    assert world.started == ["thermo"]


def test_queries_that_end_or_cannot_be_started_are_counted_and_those_that_wait_are_not() -> None:
    world = World("door", "gps", "lamp", "thermo")
    world.broken, world.waiting = "door", "lamp"
    world.supervisor.check()
    cannot_start = world.ended.taken()
    world.queries[0].isActive = False

    for _ in range(3):
        world.supervisor.check()

    assert (cannot_start, world.ended.taken(), world.ended.taken()) == (1, 1, 0)


def test_other_settings_start_a_query_anew_once_the_old_one_stopped() -> None:
    world = World("gps")
    world.supervisor.check()

    world.settings = 1
    world.supervisor.check()

    assert world.started == ["gps", "gps"]
    assert [query.isActive for query in world.queries] == [False, True]


def test_a_query_that_must_wait_is_not_started_and_one_that_runs_is_left_alone() -> None:
    world = World("door", "gps")
    world.supervisor.check()
    world.queries[0].isActive = False
    world.now_s = RESTART_S

    world.waiting = "door"
    world.supervisor.check()
    world.now_s = 2 * RESTART_S
    world.supervisor.check()
    waiting = list(world.started)
    world.waiting = ""
    world.supervisor.check()

    assert (waiting, world.started) == (["door", "gps"], ["door", "gps", "door"])


def test_waiting_for_them_supervises_them_until_they_are_stopped() -> None:
    world = World("gps")

    before = world.supervisor.awaitTermination(0)
    world.supervisor.stop()

    assert (before, world.supervisor.awaitTermination(0)) == (False, True)
    assert (world.supervisor.isActive, world.queries[0].isActive) == (False, False)


def test_what_is_left_for_its_stop_is_done_once_no_query_runs() -> None:
    world = World("lake")
    world.supervisor.check()
    seen: list[bool] = []
    world.supervisor.at_stop = lambda: seen.append(world.queries[0].isActive)

    world.supervisor.stop()

    assert seen == [False]


def test_while_its_application_stops_nothing_is_started() -> None:
    world = World("gps")
    world.supervisor.start_no_more()

    world.supervisor.check()

    assert (world.supervisor.starts, world.started) == (False, [])


def test_a_query_that_always_runs_is_started_at_once_and_an_error_of_it_is_not_hidden() -> None:
    def broken() -> Query:
        raise RuntimeError("no such table")

    queries = list[Query]()

    def start() -> Query:
        queries.append(Query())
        return queries[-1]

    always_running({"lake": start})

    assert len(queries) == 1
    with pytest.raises(RuntimeError, match="no such table"):
        always_running({"lake": broken})


def test_queries_have_begun_once_each_had_a_trigger_with_or_without_records() -> None:
    world = World("lake", "watch")
    before = world.supervisor.has_begun()

    world.supervisor.check()
    started = world.supervisor.has_begun()
    world.queries[0].lastProgress = {"batchId": 0}
    one_of_two = world.supervisor.has_begun()
    world.queries[1].status["message"] = "Waiting for data to arrive"

    assert (before, started, one_of_two) == (False, False, False)
    assert world.supervisor.has_begun()


def test_queries_have_not_begun_while_one_that_ended_waits_for_its_restart() -> None:
    world = World("lake", "watch")
    world.supervisor.check()
    for query in world.queries:
        query.lastProgress = {"batchId": 0}

    world.queries[1].isActive = False
    world.supervisor.check()

    assert not world.supervisor.has_begun()


def test_what_a_query_must_wait_for_does_not_keep_the_others_from_having_begun() -> None:
    world = World("lake", "watch")
    world.waiting = "watch"

    world.supervisor.check()
    world.queries[0].lastProgress = {"batchId": 0}

    assert world.supervisor.has_begun()


def test_a_query_has_begun_where_its_first_batch_waits_for_another_driver() -> None:
    world = World("lake")
    world.supervisor.check()
    found = list[bool]()
    for waits in (False, True):
        world.supervisor.waits_for_another = lambda waits=waits: waits  # type: ignore[misc]
        found.append(world.supervisor.has_begun())

    assert found == [False, True]
