"""Asking the lake job for upkeep, and what its schedule makes of it."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from clients.aws import s3_client
from clients.s3.lease import Lease, LeaseLostError
from clients.s3.upkeep_requests import Upkeep, UpkeepAnswer, UpkeepRequest, UpkeepRequests
from fleetlane.cli.commands.lake import UpkeepFailedError, ask_lake
from fleetlane.cli.main import app
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.upkeep import LeaseGuard, UpkeepSchedule
from operations.platform import Platform
from tests.contract.aws_in_process import SETTINGS, buckets
from tests.deployed_stage import STAGE, use_region, write_stage
from tests.lease_in_memory import LeaseInMemory

BUCKET = "stage-lake"
NOW_MS = 1_790_000_000_000
ERASURE = UpkeepRequest(request_id="r-1", upkeep=Upkeep.ERASE, device_id="d-17")


class Works:
    """Notes what was done; fails if it is to, at one kind of upkeep or at all."""

    def __init__(self) -> None:
        self.done: list[Upkeep] = []
        self.problem: BaseException | None = None
        self.failing = frozenset(Upkeep)

    def of(self, upkeep: Upkeep) -> Callable[[], Mapping[str, str]]:
        def work() -> Mapping[str, str]:
            if self.problem is not None and upkeep in self.failing:
                raise self.problem
            self.done.append(upkeep)
            return {"events": f"{upkeep} done"}

        return work


class Overtaken(UpkeepRequests):
    """Whose every look at what waits, or was answered, is followed by another's request."""

    faster: UpkeepRequest | None = None

    def answer_to(self, request_id: str) -> UpkeepAnswer | None:
        answer = super().answer_to(request_id)
        if self.faster is not None:
            faster, self.faster = self.faster, None
            self.ask(faster)
        return answer

    def waiting(self) -> UpkeepRequest | None:
        found = super().waiting()
        if self.faster is not None:
            self.ask(self.faster)
        return found


class OvertakenPlatform(Platform):
    """One on which another's erasure comes between the look at what waits and the request."""

    @property
    def upkeep_requests(self) -> Mapping[LakeTables, UpkeepRequests]:
        one = Overtaken(s3_client(self.aws), BUCKET, LakeTables.EVENTS)
        one.faster = ERASURE
        return {LakeTables.EVENTS: one}


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

    assert works.done == [Upkeep.EXPIRE, Upkeep.COMPACT]


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

    assert works.done == [Upkeep.EXPIRE, Upkeep.COMPACT]


def test_snapshots_have_expired_where_compaction_ends_the_process(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    works, one = Works(), requests[LakeTables.EVENTS]
    schedule(one, works).do_due()
    works.problem, works.failing = SystemExit(), frozenset({Upkeep.COMPACT})

    with pytest.raises(SystemExit):
        schedule(one, works, now_ms=NOW_MS + 24 * HOUR_MS).do_due()

    assert works.done == [Upkeep.EXPIRE]


def waiting_while(other: UpkeepSchedule, one: UpkeepSchedule) -> UpkeepSchedule:
    """A schedule that has its turn once the ``other`` has done what is due."""
    lease = Lease(LeaseInMemory(), holder="b", lease_s=60)
    guard = LeaseGuard(lease, prepare=other.do_due, keep=lambda _: lambda: True)
    return replace(one, guard=guard)


def test_who_waits_for_the_lease_leaves_the_day_due_for_its_holder(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    one, works, due_ms = requests[LakeTables.EVENTS], Works(), NOW_MS + 24 * HOUR_MS
    schedule(one, works).do_due()
    holder = schedule(one, works, now_ms=due_ms)

    waiting_while(holder, schedule(one, Works(), now_ms=due_ms)).do_due()

    assert works.done == [Upkeep.EXPIRE, Upkeep.COMPACT]


def test_a_day_s_upkeep_that_another_did_while_this_one_waited_is_not_done_again(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    one, works, due_ms = requests[LakeTables.EVENTS], Works(), NOW_MS + 24 * HOUR_MS
    schedule(one, works).do_due()
    holder = schedule(one, Works(), now_ms=due_ms)

    waiting_while(holder, schedule(one, works, now_ms=due_ms)).do_due()

    assert works.done == []


def test_whom_to_erase_is_reported_to_the_job(requests: dict[LakeTables, UpkeepRequests]) -> None:
    one = requests[LakeTables.EVENTS]
    one.ask(ERASURE)

    schedule(one, Works()).do_due()

    assert one.answer_to("r-1") == UpkeepAnswer(request_id="r-1", done={"events": "d-17 erased"})


def test_a_request_that_another_answered_while_this_one_waited_for_its_turn_is_not_done_again(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    one, works = requests[LakeTables.EVENTS], Works()
    one.ask(UpkeepRequest(request_id="r-1", upkeep=Upkeep.COMPACT))

    waiting_while(schedule(one, works), schedule(one, works)).do_due()

    assert works.done == [Upkeep.COMPACT]


def test_a_request_that_waits_is_never_replaced(requests: dict[LakeTables, UpkeepRequests]) -> None:
    for one in requests.values():
        one.ask(ERASURE)

    refused = CliRunner().invoke(app, ["lake", "compact", "--stage", STAGE])
    waiting = [one.waiting() for one in requests.values()]
    for one in requests.values():
        schedule(one, Works()).do_due()
    done = asked(requests, Works(), "compact")

    assert [one and one.request_id for one in waiting] == ["r-1"] * len(requests)
    assert (refused.exit_code, "the erase asked for before" in refused.stderr) == (1, True)
    assert done.stdout == "events: compact done\n" * 2


@pytest.mark.usefixtures("requests")
def test_who_is_overtaken_after_its_look_at_what_waits_is_refused() -> None:
    platform = OvertakenPlatform.of_stage(STAGE)

    with pytest.raises(UpkeepFailedError, match="the erase asked for before is not done yet"):
        ask_lake(platform, Upkeep.COMPACT, wait_s=0)


def test_a_request_that_came_between_look_and_write_is_not_replaced(
    requests: dict[LakeTables, UpkeepRequests],
) -> None:
    one = requests[LakeTables.EVENTS]
    one.ask(UpkeepRequest(request_id="r-0", upkeep=Upkeep.COMPACT))
    one.answer(UpkeepAnswer(request_id="r-0"))
    overtaken = Overtaken(s3_client(SETTINGS), BUCKET, LakeTables.EVENTS)
    overtaken.faster = ERASURE

    overtaken.ask(UpkeepRequest(request_id="r-2", upkeep=Upkeep.COMPACT))

    assert one.waiting() == ERASURE
