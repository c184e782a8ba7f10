"""Parts of a cluster die under load; every accepted message still comes to its one end."""

import os
import signal
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from local.spark.jobs import Application
from tests.cluster.executors import executors, executors_of
from tests.cluster.fleets import WITHIN_S, assert_balanced, plan, sent_during
from tests.cluster.platform import ClusterPlatform
from tests.e2e.conftest import RunningPlatform
from tests.spark.real_time import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack, pytest.mark.full_length]


def an_executor_dies(cluster: ClusterPlatform) -> None:
    os.kill(executors(cluster)[0], signal.SIGKILL)


def a_worker_dies(cluster: ClusterPlatform) -> None:
    """One that has executors, which end with it."""
    next(one for one in cluster.spark.workers if executors_of(one)).kill()


def the_driver_dies(cluster: ClusterPlatform) -> None:
    cluster.jobs[Application.LANES].kill()


def a_broker_dies(cluster: ClusterPlatform) -> None:
    cluster.kafka.follower().kill()


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
    sent = sent_during(running, cluster, FAULTS[fault], plan=plan(seed))

    assert_balanced(sent.ledger)
