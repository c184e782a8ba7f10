"""Queries of flows that dedupe come with their flows, and never hold each other up."""

import pytest

from clients.flows.store import CachedFlows, FlowsNotPublishedError, FlowsUnavailableError
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.flows.flow import Flow
from glue_jobs.deduplicate.main import supervised
from glue_jobs.engine.checkpoint_notes import DedupedStreams, PlanChangedError
from glue_jobs.engine.ended_queries import ended_queries
from glue_jobs.engine.supervisor import RESTART_S
from tests.unit.glue_jobs.memory_files import MemoryFiles

S3_IS_DOWN = FlowsUnavailableError("flows", "timed out")


class Query:
    def __init__(self) -> None:
        self.isActive = True
        self.status: dict[str, object] = {"isTriggerActive": False}
        self.lastProgress: dict[str, object] | None = None

    def exception(self) -> object:
        return None

    def stop(self) -> None:
        self.isActive = False


class World:
    """Flows that can be changed, and what was started by them."""

    def __init__(self, *flows: Flow, files: MemoryFiles | None = None) -> None:
        self.flows, self.now_s = flows, 0.0
        self.started: list[tuple[str, int]] = []
        self.made: list[Query] = []
        self.refused = ""
        self.problem: FlowsUnavailableError | None = None
        self.files = files or MemoryFiles()
        self.queries = supervised(
            self.start,
            flows=CachedFlows(self, max_age_s=0),
            deduped=DedupedStreams(self.files),
            clock_s=lambda: self.now_s,
        )

    def current(self) -> PublishedFlows:
        if self.problem is not None:
            raise self.problem
        return PublishedFlows.of(self.flows)

    def start(self, stream: str, window_s: int) -> Query:
        if stream == self.refused:
            raise PlanChangedError(stream, "it is of another cluster")
        self.started.append((stream, window_s))
        self.made.append(Query())
        return self.made[-1]


def flow(stream: str, window_s: int | None = None) -> Flow:
    rule = "" if window_s is None else f"[dedupe]\nwindow_s = {window_s}\n"
    text = f'stream = "{stream}"\nowner = "acme"\n{rule}[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file=f"{stream}.toml")


def test_only_flows_that_dedupe_have_a_query_and_each_its_own() -> None:
    world = World(flow("door"), flow("gps", 600), flow("thermo", 60))

    world.queries.check()
    world.queries.check()

    assert world.started == [("gps", 600), ("thermo", 60)]


def test_until_flows_can_be_read_those_of_before_go_on() -> None:
    files = MemoryFiles()
    World(flow("gps", 600), files=files).queries.check()
    world = World(files=files)
    world.problem = S3_IS_DOWN

    world.queries.check()

    assert world.started == [("gps", 600)]


def test_a_first_start_without_flows_counts_as_a_query_that_cannot_be_started() -> None:
    world = World()
    world.problem = S3_IS_DOWN
    ended_queries().taken()

    with pytest.raises(FlowsUnavailableError):
        world.queries.check()

    assert (ended_queries().taken(), world.queries.has_begun()) == (1, False)


def test_a_first_deploy_which_has_no_flows_before_its_jobs_began_does_not_wait_for_them() -> None:
    world = World(flow("gps", 600))
    world.problem = FlowsNotPublishedError("flows/current.json")

    world.queries.awaitTermination(0)

    assert world.queries.has_begun()


def test_flows_of_a_first_deploy_are_deduped_once_they_are_in_force() -> None:
    world = World(flow("gps", 600))
    world.problem = FlowsNotPublishedError("flows/current.json")
    world.queries.check()

    world.problem = None
    world.queries.check()

    assert world.started == [("gps", 600)]


def test_a_flow_that_dedupes_from_now_on_is_found_while_the_job_runs() -> None:
    world = World(flow("gps"))
    world.queries.check()

    world.flows = (flow("gps", 600),)
    world.queries.check()

    assert world.started == [("gps", 600)]


def test_another_window_starts_the_query_anew_once_the_old_one_stopped() -> None:
    world = World(flow("gps", 600))
    world.queries.check()

    world.flows = (flow("gps", 900),)
    world.queries.check()

    assert world.started == [("gps", 600), ("gps", 900)]
    assert [query.isActive for query in world.made] == [False, True]


def test_a_flow_that_dedupes_no_longer_keeps_its_query_and_a_restart_brings_it_back() -> None:
    world = World(flow("gps", 600))
    world.queries.check()

    world.flows = (flow("gps"),)
    world.queries.check()
    restarted = World(files=world.files)
    restarted.queries.check()

    assert world.made[0].isActive
    assert restarted.started == [("gps", 600)]


def test_a_query_that_failed_is_started_again_after_a_pause() -> None:
    world = World(flow("gps", 600))
    world.queries.check()
    world.made[0].stop()

    world.queries.check()
    world.queries.check()
    at_once = len(world.started)
    world.now_s = RESTART_S
    world.queries.check()

    assert (at_once, len(world.started)) == (1, 2)


def test_a_query_whose_checkpoint_refuses_it_holds_up_no_other() -> None:
    world = World(flow("gps", 600), flow("thermo", 60))
    world.refused = "gps"

    world.queries.check()

    assert world.started == [("thermo", 60)]


def test_who_waits_looks_after_them_until_they_are_stopped() -> None:
    world = World(flow("gps", 600))

    before = world.queries.awaitTermination(0)
    world.queries.stop()

    assert (before, world.queries.awaitTermination(0)) == (False, True)
    assert not world.made[0].isActive
