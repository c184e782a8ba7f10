"""Parts of a cluster die under load; every accepted message still comes to its one end."""

import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from clients.kafka.reader import KafkaReader
from local.simulator.sendings import FleetPlan
from local.spark.jobs import Application
from operations.ledger.reconciliation import Ledger
from tests.cluster.platform import ClusterPlatform
from tests.e2e.conftest import RunningPlatform
from tests.spark.real_time import wait_until
from tests.unit.parsers.sandbox.machine import descendants_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.full_length]

DEVICES: Final = 300
WITHIN_S: Final = 120.0
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"


def executors(cluster: ClusterPlatform) -> list[int]:
    """The processes of all executors, those of the first worker first."""
    below = [pid for node in cluster.spark.workers for pid in sorted(descendants_of(node.pid or 0))]
    return [pid for pid in below if _is_executor(pid)]


def _is_executor(pid: int) -> bool:
    try:
        return _EXECUTOR in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def an_executor_dies(cluster: ClusterPlatform) -> None:
    os.kill(executors(cluster)[0], signal.SIGKILL)


def a_worker_dies(cluster: ClusterPlatform) -> None:
    """One that has executors, which end with it."""
    busy = [
        one for one in cluster.spark.workers if any(map(_is_executor, descendants_of(one.pid or 0)))
    ]
    busy[0].kill()


def the_driver_dies(cluster: ClusterPlatform) -> None:
    cluster.jobs[Application.LANES].kill()


def a_broker_dies(cluster: ClusterPlatform) -> None:
    """One that is not the controller."""
    controller = cluster.kafka.controller()
    next(one for one in cluster.kafka.brokers if one is not controller).kill()


def the_controller_dies(cluster: ClusterPlatform) -> None:
    cluster.kafka.controller().kill()


def brokers_are_restarted_one_by_one(cluster: ClusterPlatform) -> None:
    for broker in cluster.kafka.brokers:
        broker.stop()
        broker.start()
        wait_until(lambda: not cluster.kafka.under_replicated(), wait_s=WITHIN_S)


FAULTS: Final[Mapping[str, Callable[[ClusterPlatform], None]]] = {
    "an executor": an_executor_dies,
    "a worker": a_worker_dies,
    "the driver": the_driver_dies,
    "a broker": a_broker_dies,
    "the controller": the_controller_dies,
    "a rolling restart of the brokers": brokers_are_restarted_one_by_one,
}


def test_a_fleet_s_messages_all_come_to_an_end(running: RunningPlatform) -> None:
    run = running.send(plan(1))

    assert run.surprises() == ()
    assert_balanced(running.ledger_of(run))


@pytest.mark.parametrize(("seed", "fault"), [*enumerate(FAULTS, start=2)], ids=list(FAULTS))
def test_nothing_is_lost_by(
    running: RunningPlatform, cluster: ClusterPlatform, seed: int, fault: str
) -> None:
    kafka = cluster.endpoints.kafka
    wait_until(lambda: bool(executors(cluster)), wait_s=WITHIN_S)
    with (
        ThreadPoolExecutor(1) as pool,
        closing(KafkaReader(kafka, pattern=r"canonical\..*", is_from_end=True)) as canonical,
    ):
        run = pool.submit(running.send, plan(seed))
        wait_until(lambda: run.done() or bool(canonical.read_available()), wait_s=WITHIN_S)
        with running.keeper.away():  # who starts what dies must not do so too early
            FAULTS[fault](cluster)
        ledger = running.ledger_of(run.result())

    assert_balanced(ledger)


def plan(seed: int) -> FleetPlan:
    return FleetPlan(devices=DEVICES, seed=seed, seconds=8.0)


def assert_balanced(ledger: Ledger) -> None:
    assert (ledger.lost, ledger.invented, list(ledger.findings.lines())) == (0, 0, [])
    assert ledger.parsed > 0
