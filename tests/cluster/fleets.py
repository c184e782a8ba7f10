"""A fleet that sends while something befalls the cluster, and what became of its messages."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from clients.kafka.reader import KafkaReader
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetRun
from operations.ledger.reconciliation import Ledger
from tests.cluster.executors import executors
from tests.cluster.platform import ClusterPlatform
from tests.e2e.conftest import RunningPlatform
from tests.spark.real_time import wait_until

DEVICES: Final = 300
WITHIN_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What the fleet saw, and the ledger once all of it had settled."""

    run: FleetRun
    ledger: Ledger


def plan(seed: int, *, seconds: float = 8.0) -> FleetPlan:
    return FleetPlan(devices=DEVICES, seed=seed, seconds=seconds)


def sent_during(
    running: RunningPlatform,
    cluster: ClusterPlatform,
    fault: Callable[[ClusterPlatform], None],
    *,
    plan: FleetPlan,
) -> Sent:
    """Let the fleet send, and the fault befall once events come; only it starts what dies."""
    kafka = cluster.endpoints.kafka
    wait_until(lambda: bool(executors(cluster)), wait_s=WITHIN_S)
    with (
        ThreadPoolExecutor(1) as pool,
        closing(KafkaReader(kafka, pattern=r"canonical\..*", is_from_end=True)) as canonical,
    ):
        sending = pool.submit(running.send, plan)
        wait_until(lambda: sending.done() or bool(canonical.read_available()), wait_s=WITHIN_S)
        with running.keeper.away():  # who starts what dies must not do so too early
            fault(cluster)
        run = sending.result()
        return Sent(run=run, ledger=running.ledger_of(run))


def assert_balanced(ledger: Ledger) -> None:
    assert (ledger.lost, ledger.invented, list(ledger.findings.lines())) == (0, 0, [])
    assert ledger.parsed > 0
