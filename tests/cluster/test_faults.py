"""What befalls a cluster more rarely; every accepted message still comes to its one end."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

import pytest

from benchmarks.running.telling import tell
from local.servers.processes import ServerProcess
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetRun, landed
from local.spark.jobs import Application
from tests.cluster.executors import executors, has_executors
from tests.cluster.fleets import DEVICES, WITHIN_S, Sent, assert_balanced, plan, sent_during
from tests.cluster.platform import ClusterPlatform
from tests.cluster.repeats import repeats
from tests.e2e.conftest import RunningPlatform
from tests.e2e.fault_proxy import Failure
from tests.e2e.faults import frozen, stopped
from tests.spark.real_time import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.faults,
    pytest.mark.full_length,
]

LENGTH_S: Final = 20.0
FLEET_S: Final = 30.0
"""Longer than what befalls the cluster, and so it is sent to before, meanwhile and after."""

EXECUTORS: Final = 2
STOPPED_S, RUNS_S = 1.0, 0.5
BOTH_RUN_S: Final = 120.0
QUIET_S: Final = 30.0
ELASTIC: Final[Mapping[str, str]] = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "3",
    # A minute, as in AWS, would be longer than the test; and what shuffles wrote never goes.
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "5s",
    "spark.executor.cores": "3",
    "spark.cores.max": "9",
}


def the_master_dies(cluster: ClusterPlatform) -> None:
    """An executor as well, which nobody replaces until there is a master again."""
    cluster.spark.master.kill()
    dead = executors(cluster)[0]
    os.kill(dead, signal.SIGKILL)
    time.sleep(LENGTH_S)
    cluster.spark.master.start()
    wait_until(has_executors(cluster, EXECUTORS), wait_s=WITHIN_S)


def two_brokers_die(cluster: ClusterPlatform) -> None:
    """The one that is left takes no record, and has no controller."""
    for one in cluster.kafka.brokers[:2]:
        one.kill()
    time.sleep(LENGTH_S)
    cluster.kafka.start()


def the_jobs_lose_a_broker(cluster: ClusterPlatform) -> None:
    """All others reach it: it stays the leader of what it leads."""
    with cluster.kafka.brokers[0].proxy.failing(Failure.HANGS):
        time.sleep(LENGTH_S)


def a_broker_answers_in_pulses(cluster: ClusterPlatform) -> None:
    """In place of a slow disk: it is stopped for a second, and then runs for half of one."""
    broker, until_s = cluster.kafka.follower(), time.monotonic() + LENGTH_S
    while time.monotonic() < until_s:
        with frozen(broker):
            time.sleep(STOPPED_S)
        time.sleep(RUNS_S)


def executors_die_one_after_another(cluster: ClusterPlatform) -> None:
    until_s = time.monotonic() + LENGTH_S
    while time.monotonic() < until_s:
        for pid in executors(cluster)[:1]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(LENGTH_S / 4)


FAULTS: Final[Mapping[str, Callable[[ClusterPlatform], None]]] = {
    "the master": the_master_dies,
    "a partition between the jobs and a broker": the_jobs_lose_a_broker,
    "a broker in pulses": a_broker_answers_in_pulses,
    "one executor after another": executors_die_one_after_another,
}


@pytest.mark.parametrize(("seed", "fault"), [*enumerate(FAULTS, start=11)], ids=list(FAULTS))
def test_nothing_is_lost_by(
    running: RunningPlatform, cluster: ClusterPlatform, seed: int, fault: str
) -> None:
    sent = sent_during(running, cluster, FAULTS[fault], plan=plan(seed, seconds=FLEET_S))

    tell_of(fault, cluster, sent)
    assert_balanced(sent.ledger)


def test_nothing_is_lost_by_two_brokers_while_messages_go_to_the_spool(
    running: RunningPlatform, cluster: ClusterPlatform
) -> None:
    sent = sent_during(running, cluster, two_brokers_die, plan=plan(16, seconds=FLEET_S))

    tell_of("two brokers", cluster, sent)
    assert landed(sent.run.sent)["spool"] > 0
    assert_balanced(sent.ledger)


def test_nothing_is_lost_by_two_drivers_on_one_checkpoint(
    running: RunningPlatform, cluster: ClusterPlatform
) -> None:
    first, second = cluster.jobs[Application.LANES], cluster.another_driver("second", {})

    def both_run(cluster: ClusterPlatform) -> None:
        with started(second):
            wait_until(has_executors(cluster, 2 * EXECUTORS), wait_s=WITHIN_S)
            time.sleep(BOTH_RUN_S)
            tell(f"two drivers: {first.is_alive()} {second.is_alive()}")
            first.kill()

    fleet = FleetPlan(devices=DEVICES, messages_per_device=20, seed=31, seconds=200.0)
    sent = sent_during(running, cluster, both_run, plan=fleet)

    tell_of("two drivers", cluster, sent)
    assert_balanced(sent.ledger)


def test_nothing_is_lost_while_executors_come_and_go(
    running: RunningPlatform, cluster: ClusterPlatform
) -> None:
    usual, elastic = cluster.jobs[Application.LANES], cluster.another_driver("elastic", ELASTIC)
    counts, runs = list[int](), list[FleetRun]()
    with running.keeper.away(), stopped(usual), started(elastic), ThreadPoolExecutor(1) as pool:
        for seed in (21, 22):
            settled = pool.submit(settled_run, running, plan(seed))
            quiet_s = 0.0
            while quiet_s < QUIET_S:
                counts.append(len(executors(cluster)))
                time.sleep(1)
                quiet_s += settled.done()
            runs.append(settled.result())
        ledger = running.ledger_on([one for run in runs for one in run.receipts()])

    tell(f"dynamic allocation: {ledger.line()}; executors, second by second: {counts}")
    assert max(counts) > counts[-1]
    assert_balanced(ledger)


@contextmanager
def started(driver: ServerProcess) -> Iterator[None]:
    """One that runs for the block, and is killed after it."""
    driver.start()
    try:
        yield
    finally:
        driver.kill()


def settled_run(running: RunningPlatform, plan: FleetPlan) -> FleetRun:
    run = running.send(plan)
    running.ledger_of(run)
    return run


def tell_of(fault: str, cluster: ClusterPlatform, sent: Sent) -> None:
    again = repeats(cluster.endpoints.kafka, since_ms=sent.run.began_ms)
    ledger = f"{sent.ledger.line()}, {sent.ledger.seconds:.0f} s"
    tell(f"{fault}: {ledger}; landed {dict(landed(sent.run.sent))}; again {dict(again)}")
