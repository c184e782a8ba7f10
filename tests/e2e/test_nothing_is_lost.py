"""Parts die under load; every accepted message still comes to its one end."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from random import Random
from typing import Final

import pytest

from clients.kafka.reader import KafkaReader
from local.simulator.sendings import FleetPlan
from operations.ledger.reconciliation import Ledger
from tests.e2e.conftest import RunningPlatform
from tests.e2e.victims import kill

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

DEVICES: Final = 120
DEVICES_FULL: Final = 1_000
EVENTS_BEFORE_A_KILL: Final = 200
SILENCE_S: Final = 60.0
"""Longer than the jobs take to start."""

AT_RANDOM: Final = Random(7).choices(["child", "worker", "driver", "broker"], k=20)  # noqa: S311
VICTIMS_FULL: Final = tuple(enumerate(["gateway", "local aws", *AT_RANDOM], start=20))


@pytest.fixture(scope="session")
def devices(*, faults_are_full: bool) -> int:
    return DEVICES_FULL if faults_are_full else DEVICES


def plan(seed: int, devices: int) -> FleetPlan:
    return FleetPlan(devices=devices, seed=seed, seconds=8.0)


def ledger_after(
    running: RunningPlatform, fleet: FleetPlan, victims: Sequence[tuple[str, int]]
) -> Ledger:
    """Let the fleet send; kill each victim after so many events; reconcile the ledger."""
    with (
        ThreadPoolExecutor(1) as pool,
        closing(
            KafkaReader(
                running.platform.endpoints.kafka, pattern=r"canonical\..*", is_from_end=True
            )
        ) as canonical,
    ):
        run = pool.submit(running.send, fleet)
        for victim, events in victims:
            canonical.read_available()  # what came out before is not waited for
            wait_for_records(canonical, events, run.done)
            with running.keeper.away():  # who starts what dies must not do so too early
                kill(running.platform, victim)
        return running.ledger_of(run.result())


def wait_for_records(reader: KafkaReader, count: int, is_over: Callable[[], bool]) -> None:
    """Until so many are read; or all, as the fleet's silence tells."""
    seen, moved_s = 0, time.monotonic()
    while seen < count and not (is_over() and time.monotonic() - moved_s > SILENCE_S):
        if news := len(reader.read_available()):
            seen, moved_s = seen + news, time.monotonic()


def assert_balanced(ledger: Ledger) -> None:
    findings = list(ledger.findings.lines())
    assert (ledger.lost, ledger.invented, findings) == (0, 0, [])
    assert ledger.parsed > 0
    assert ledger.parked > 0


def test_a_quiet_run_is_answered_as_devices_expect(running: RunningPlatform) -> None:
    run = running.send(plan(1, DEVICES))

    assert run.surprises() == ()
    assert_balanced(running.ledger_of(run))


@pytest.mark.faults
def test_nothing_is_lost_when_parts_of_every_kind_die_one_after_the_other(
    running: RunningPlatform, devices: int
) -> None:
    """What gathers while one is stopped is taken in a batch; at its first event the next dies."""
    victims = [("child", EVENTS_BEFORE_A_KILL), ("worker", 0), ("driver", 1), ("broker", 1)]

    assert_balanced(ledger_after(running, plan(14, devices), victims))


@pytest.mark.faults
@pytest.mark.full_length
@pytest.mark.parametrize(("seed", "victim"), VICTIMS_FULL)
def test_nothing_is_lost_whatever_dies_under_load(
    running: RunningPlatform, devices: int, seed: int, victim: str
) -> None:
    victims = [(victim, EVENTS_BEFORE_A_KILL)]

    assert_balanced(ledger_after(running, plan(seed, devices), victims))
