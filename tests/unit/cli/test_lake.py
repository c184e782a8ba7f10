"""Asking the lake job for upkeep, and what its schedule makes of it."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from clients.s3.lease import Lease, LeaseLostError
from clients.s3.upkeep_requests import Upkeep, UpkeepAnswer, UpkeepRequest, UpkeepRequests
from fleetlane.cli.main import app
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.upkeep import LeaseGuard, UpkeepSchedule
from tests.contract.aws_in_process import buckets
from tests.deployed_stage import STAGE, use_region, write_stage
from tests.lease_in_memory import LeaseInMemory

BUCKET = "stage-lake"
NOW_MS = 1_790_000_000_000


class Works:
    """Notes what was done; fails if it is to, at one kind of upkeep or at all."""

    def __init__(self) -> None:
        self.done: list[Upkeep] = []
        self.problem: FleetlaneError | None = None
        self.failing = frozenset(Upkeep)

    def of(self, upkeep: Upkeep) -> Callable[[], Mapping[str, str]]:
        def work() -> Mapping[str, str]:
            if self.problem is not None and upkeep in self.failing:
                raise self.problem
            self.done.append(upkeep)
            return {"events": f"{upkeep} done"}

        return work


class DiskFullError(FleetlaneError):
    """The disk is."""

    def __str__(self) -> str:
        return "no space left\nat all"


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[LakeTables, UpkeepRequests]]:
    use_region(monkeypatch)
    with buckets(BUCKET) as s3:
        write_stage(lake_bucket=BUCKET)
        yield {tables: UpkeepRequests(s3, BUCKET, tables) for tables in LakeTables}


def schedule(requests: UpkeepRequests, works: Works, *, now_ms: int = NOW_MS) -> UpkeepSchedule:
    lease = Lease(LeaseInMemory(), holder="a", lease_s=60)
    return UpkeepSchedule(
        requests=requests,
        guard=LeaseGuard(lease, prepare=lambda: None, keep=lambda _: lambda: True),
        works={upkeep: works.of(upkeep) for upkeep in (Upkeep.COMPACT, Upkeep.EXPIRE)},
        erase=lambda device_id: {"events": f"{device_id} erased"},
        now_ms=lambda: now_ms,
    )


def asked(requests: Mapping[LakeTables, UpkeepRequests], works: Works, upkeep: str) -> Result:
    """Ask, while both writers look until they have answered."""
    with ThreadPoolExecutor(1) as pool:
        words = ["lake", upkeep, "--stage", STAGE, "--wait", "60"]
        result = pool.submit(CliRunner().invoke, app, words)
        while not result.done():
            for one in requests.values():
                schedule(one, works).do_due()
        return result.result()


def test_both_writers_are_asked_and_say_what_they_did(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    works = Works()

    said = asked(requests, works, "compact")

    assert said.stdout == "events: compact done\n" * 2
    assert works.done == [Upkeep.COMPACT] * 2


def test_a_failure_is_reported_in_a_sentence(requests: dict[LakeTables, UpkeepRequests]) -> None:
    works = Works()
    works.problem = DiskFullError()

    said = asked(requests, works, "expire")

    assert said.exit_code == 1
    assert "the lake job's events: no space left\n" in said.stderr


@pytest.mark.usefixtures("requests")
def test_without_an_answer_it_says_so() -> None:
    said = CliRunner().invoke(app, ["lake", "compact", "--stage", STAGE, "--wait", "0"])

    assert said.exit_code == 1
    assert "gave no answer in 0 s" in said.stderr


def test_upkeep_is_done_unasked_once_a_day(requests: dict[LakeTables, UpkeepRequests]) -> None:
    works, one = Works(), requests[LakeTables.EVENTS]

    for hours in (0, 23, 24, 30):
        schedule(one, works, now_ms=NOW_MS + hours * HOUR_MS).do_due()

    assert works.done == [Upkeep.COMPACT, Upkeep.EXPIRE]


def test_snapshots_expire_although_compaction_fails(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    works, one = Works(), requests[LakeTables.EVENTS]
    schedule(one, works).do_due()
    works.problem, works.failing = DiskFullError(), frozenset({Upkeep.COMPACT})

    schedule(one, works, now_ms=NOW_MS + 24 * HOUR_MS).do_due()

    assert works.done == [Upkeep.EXPIRE]


def test_what_a_lost_lease_cut_off_is_done_by_who_has_it_next(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    works, one, due_ms = Works(), requests[LakeTables.EVENTS], NOW_MS + 24 * HOUR_MS
    schedule(one, works).do_due()
    works.problem = LeaseLostError("lake", "a")
    with pytest.raises(LeaseLostError):
        schedule(one, works, now_ms=due_ms).do_due()
    works.problem = None

    schedule(one, works, now_ms=due_ms + 5_000).do_due()

    assert works.done == [Upkeep.COMPACT, Upkeep.EXPIRE]


def test_whom_to_erase_is_reported_to_the_job(requests: dict[LakeTables, UpkeepRequests]) -> None:
    one = requests[LakeTables.EVENTS]
    one.ask(UpkeepRequest(request_id="r-1", upkeep=Upkeep.ERASE, device_id="d-17"))

    schedule(one, Works()).do_due()

    assert one.answer_to("r-1") == UpkeepAnswer(request_id="r-1", done={"events": "d-17 erased"})


def test_a_request_that_another_answered_while_this_one_waited_for_its_turn_is_not_done_again(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    one, works = requests[LakeTables.EVENTS], Works()
    one.ask(UpkeepRequest(request_id="r-1", upkeep=Upkeep.COMPACT))
    lease = Lease(LeaseInMemory(), holder="b", lease_s=60)
    other = schedule(one, works)

    late = replace(
        schedule(one, works),
        guard=LeaseGuard(lease, prepare=other.do_due, keep=lambda _: lambda: True),
    )
    late.do_due()

    assert works.done == [Upkeep.COMPACT]


def test_a_request_that_waits_is_never_replaced(requests: dict[LakeTables, UpkeepRequests]) -> None:
    for one in requests.values():
        one.ask(UpkeepRequest(request_id="r-1", upkeep=Upkeep.ERASE, device_id="d-17"))

    refused = CliRunner().invoke(app, ["lake", "compact", "--stage", STAGE])
    waiting = [one.waiting() for one in requests.values()]
    for one in requests.values():
        schedule(one, Works()).do_due()
    done = asked(requests, Works(), "compact")

    assert [one and one.request_id for one in waiting] == ["r-1"] * len(requests)
    assert (refused.exit_code, "the erase asked for before" in refused.stderr) == (1, True)
    assert done.stdout == "events: compact done\n" * 2
