"""Parts die under load; every accepted message still comes to its one end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from clients.kafka_reader import KafkaReader
from local.fleet.plan import FleetPlan
from local.fleet.simulator import FleetRun
from local.ledger import Ledger
from local.platform import Platform
from tests.e2e.conftest import RunningPlatform

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

DEVICES = 120
DEVICES_FULL = 1_000
RECORDS_BEFORE_KILL = 200


def plan(seed: int, *, is_full: bool) -> FleetPlan:
    return FleetPlan(devices=DEVICES_FULL if is_full else DEVICES, seed=seed, seconds=8.0)


def ledger_after(running: RunningPlatform, fleet: FleetPlan, kill: Callable[[], None]) -> Ledger:
    """Let the fleet send; kill once its events come out; close the ledger."""
    with (
        ThreadPoolExecutor(1) as pool,
        closing(
            KafkaReader(
                running.platform.endpoints.kafka, pattern=r"canonical\..*", is_from_end=True
            )
        ) as canonical,
    ):
        canonical.read_available()
        run = pool.submit(running.send, fleet)
        wait_for_records(canonical, RECORDS_BEFORE_KILL, run.done)
        kill()
        return running.ledger_of(run.result())


def wait_for_records(reader: KafkaReader, count: int, is_over: Callable[[], bool]) -> None:
    seen = 0
    while seen < count and not is_over():
        seen += len(reader.read_available())


def assert_balanced(ledger: Ledger) -> None:
    findings = list(ledger.findings.lines())
    assert (ledger.lost, ledger.invented, findings) == (0, 0, [])
    assert ledger.parsed > 0
    assert ledger.parked > 0


def test_a_quiet_run_is_answered_as_devices_expect(running: RunningPlatform) -> None:
    run = running.send(plan(1, is_full=False))

    assert run.surprises() == ()
    assert_balanced(running.ledger_of(run))


@pytest.mark.faults
@pytest.mark.parametrize(
    "part",
    [
        "jobs",
        "broker",
        pytest.param("gateway", marks=pytest.mark.full_length),
        pytest.param("aws", marks=pytest.mark.full_length),
    ],
)
def test_nothing_is_lost_when_a_part_is_killed_under_load(
    running: RunningPlatform, part: str, *, faults_are_full: bool
) -> None:
    seed = 10 + len(part)

    ledger = ledger_after(
        running, plan(seed, is_full=faults_are_full), lambda: kill(running.platform, part)
    )

    assert_balanced(ledger)


@pytest.mark.faults
def test_messages_that_a_killed_batch_repeats_carry_the_ids_they_had(
    running: RunningPlatform, *, faults_are_full: bool
) -> None:
    """While the jobs are away messages gather; the batch that takes them is killed half-way."""
    fleet = plan(30, is_full=faults_are_full)
    running.platform.jobs.kill()
    run = running.send(fleet)

    ledger = killed_half_way(running, run)

    assert_balanced(ledger)


def killed_half_way(running: RunningPlatform, run: FleetRun) -> Ledger:
    with closing(
        KafkaReader(running.platform.endpoints.kafka, pattern=r"canonical\..*", is_from_end=True)
    ) as canonical:
        canonical.read_available()
        wait_for_records(canonical, 1, lambda: False)
    running.platform.jobs.kill()
    return running.ledger_of(run)


def kill(platform: Platform, part: str) -> None:
    getattr(platform, part).kill()
