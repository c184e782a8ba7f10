"""One of Spark's workers dies, or stops for good: its task alone is repeated; nobody helps."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread

import orjson
import pytest

from fleetlane.events.job_arguments import KafkaSecurity
from local.platform import Platform
from local.servers.processes import ServerProcess
from local.spark.jobs import Application
from operations.lanes.status import KafkaPositions, status_of
from operations.ledger.message_results import Receipt
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device
from tests.e2e.victims import workers
from tests.unit.parsers.sandbox.machine import is_alive

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.faults,
    pytest.mark.full_length,
]

WITHIN_S_MAX = 240.0
POSITION = {"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54}


@contextmanager
def traffic(platform: Platform) -> Iterator[list[Receipt]]:
    """A device that sends to the standard lane without a pause."""
    device, receipts, ends = Device.registered(platform), list[Receipt](), Event()

    def send() -> None:
        while not ends.wait(0.05):
            body = orjson.dumps(POSITION | {"number": len(receipts)})
            receipts.append(device.accepted("gps", body))

    sender = Thread(target=send)
    sender.start()
    try:
        yield receipts
    finally:
        ends.set()
        sender.join()


def a_worker(platform: Platform) -> int:
    """One that has parsed, once there is any."""
    until_s = time.monotonic() + WITHIN_S_MAX
    while not (found := workers(platform)):
        assert time.monotonic() < until_s, "no worker has parsed"
        time.sleep(0.1)
    return found[0]


def log_since(jobs: ServerProcess, at: int) -> str:
    return jobs.log_path.read_bytes()[at:].decode(errors="replace")


def test_a_worker_that_is_killed_fails_its_task_alone(running: RunningPlatform) -> None:
    platform, jobs = running.platform, running.platform.jobs[Application.LANES]
    driver, began_at = jobs.pid, jobs.log_path.stat().st_size
    until_s = time.monotonic() + WITHIN_S_MAX

    with traffic(platform) as receipts:
        while "Lost task" not in log_since(jobs, began_at):
            assert time.monotonic() < until_s, "no worker died amid a task"
            os.kill(a_worker(platform), signal.SIGKILL)
            time.sleep(0.5)
    ledger = running.ledger_on(receipts)

    log = log_since(jobs, began_at)
    assert (ledger.lost, ledger.invented, ledger.parsed) == (0, 0, len(receipts))
    assert "is started again" not in log, log[-4_000:]
    assert jobs.pid == driver


def test_a_lane_whose_worker_stopped_for_good_goes_on_by_itself(running: RunningPlatform) -> None:
    platform, jobs = running.platform, running.platform.jobs[Application.LANES]
    driver, began_at = jobs.pid, jobs.log_path.stat().st_size
    stalled_ms = set[int]()
    positions = KafkaPositions(platform.endpoints.kafka, KafkaSecurity.PLAINTEXT)

    with traffic(platform) as receipts, closing(positions):
        stopped = a_worker(platform)
        os.kill(stopped, signal.SIGSTOP)
        until_s = time.monotonic() + WITHIN_S_MAX
        while is_alive(stopped) and time.monotonic() < until_s:
            status = status_of(positions, now_ms=time.time_ns() // 1_000_000)
            stalled_ms |= {query.stalled_ms for query in status.queries}
            time.sleep(2)
    was_killed = not is_alive(stopped)
    os.kill(stopped, signal.SIGCONT) if not was_killed else None
    ledger = running.ledger_on(receipts)

    log = log_since(jobs, began_at)
    assert was_killed
    assert "has work and stalled" in log
    assert max(stalled_ms) >= 30_000
    assert (ledger.lost, ledger.invented, ledger.parsed) == (0, 0, len(receipts))
    assert jobs.pid == driver
