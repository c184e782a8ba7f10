"""The fast lane in real time: the outcomes of micro-batches, whatever dies meanwhile."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from fleetlane.events import headers as ce
from fleetlane.events.envelope import Record
from fleetlane.events.lanes import LaneTrigger
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings
from tests.brokers import running_broker
from tests.spark.killed_jobs import running_job
from tests.spark.real_time import (
    BEGIN,
    Pulses,
    fast_lane,
    odd_and_plain,
    open_pulses,
    prepared,
    wait_until,
)
from tests.unit.parsers.sandbox.conftest import children_of
from tests.unit.parsers.sandbox.machine import descendants_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

SLOTS = 6
MESSAGES, MESSAGES_FULL = 300, 10_000
TIMES = frozenset({"parsed_ms", "parse_us"})
"""In a row of ``fleet.parsed``: when an attempt was made, and how long it took."""

REAL_TIME, BATCHES = LaneTrigger.REAL_TIME, LaneTrigger.MICRO_BATCHES


@pytest.fixture(scope="module")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One of its own: other tests' topics would take the lane's task slots."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    return prepared(tmp_path, kafka_broker, local_aws)


@pytest.fixture
def fleet(settings: JobSettings) -> Iterator[Pulses]:
    yield from open_pulses(settings)


def comparable(record: Record) -> tuple[object, ...]:
    """A record without what says when it was made."""
    value = record.value
    if record.topic == "fleet.parsed":
        row = orjson.loads(value or b"")
        value = orjson.dumps({name: row[name] for name in sorted(row.keys() - TIMES)})
    headers = tuple(one for one in record.headers if one[0] != ce.PARKED_AT)
    partition = None if record.key is None else record.partition
    return record.topic, partition, record.key, value, headers


def outcome_counts(records: list[Record]) -> Counter[tuple[object, ...]]:
    return Counter(map(comparable, records))


def test_no_outcome_differs_between_the_modes(
    settings: JobSettings, fleet: Pulses, tmp_path: Path, *, faults_are_full: bool
) -> None:
    count = MESSAGES_FULL if faults_are_full else MESSAGES
    by_mode = dict[LaneTrigger, Counter[tuple[object, ...]]]()
    with running_job(settings, *fast_lane(settings, REAL_TIME), task_slots=SLOTS):
        fleet.wait_for_real_time()
        fleet.send(odd_and_plain(count, seed=1))
        wait_until(lambda: fleet.attempts() >= count * 3 // 4)
        wait_until(IsQuiet(fleet))
    by_mode[REAL_TIME] = outcome_counts(fleet.records)
    fleet.records.clear()
    argv = fast_lane(settings, BATCHES, checkpoints=tmp_path / "others")
    with running_job(settings, *argv, task_slots=SLOTS):
        wait_until(lambda: fleet.attempts() >= count * 3 // 4)
        wait_until(IsQuiet(fleet))
    by_mode[BATCHES] = outcome_counts(fleet.records)

    assert {topic for topic, *_ in by_mode[BATCHES]} >= {"parked", "raw.bulk.large", "fleet.parsed"}
    assert by_mode[REAL_TIME] - by_mode[BATCHES] == Counter()
    assert by_mode[BATCHES] - by_mode[REAL_TIME] == Counter()
    assert "runs in real time, with 2 tasks" in (settings.folder / "spark.log").read_text()


class IsQuiet:
    """Whether nothing came for a number of polls."""

    def __init__(self, fleet: Pulses, polls: int = 25) -> None:
        self._fleet, self._polls, self._left, self._seen = fleet, polls, polls, -1

    def __call__(self) -> bool:
        self._fleet.read()
        seen = len(self._fleet.records)
        self._left = self._left - 1 if seen == self._seen else self._polls
        self._seen = seen
        return self._left <= 0


def kill_workers(job: ServerProcess) -> None:
    """Kill -9 of all workers that have parsed: they have children."""
    assert job.pid is not None
    workers = [pid for pid in descendants_of(job.pid) if children_of(pid) and is_worker(pid)]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


def is_worker(pid: int) -> bool:
    """Whether it is a fork of the daemon of PySpark's workers."""
    try:
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        both = Path(f"/proc/{pid}/cmdline"), Path(f"/proc/{parent}/cmdline")
        return all("pyspark.daemon" in one.read_text() for one in both)
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.full_length
@pytest.mark.faults
def test_nothing_is_lost_when_modes_change_and_parts_are_killed(
    settings: JobSettings, fleet: Pulses, kafka_broker: KafkaBroker
) -> None:
    """Micro-batches, killed; in real time a worker, the broker, the driver twice; micro-batches."""
    with running_job(settings, *fast_lane(settings, BATCHES), task_slots=SLOTS) as job:
        fleet.send_step_and_wait()
        fleet.send_step()
        job.kill()
    with running_job(settings, *fast_lane(settings, REAL_TIME), task_slots=SLOTS) as job:
        fleet.wait_for_real_time()
        fleet.send_step_and_wait()
        fleet.send_step()
        kill_workers(job)
        fleet.send_step_and_wait()
        fleet.wait_for_real_time()
        kafka_broker.kill()
        kafka_broker.start()
        fleet.send_step_and_wait()
        fleet.wait_for_real_time()
        fleet.send_step()
        job.kill()
    with running_job(settings, *fast_lane(settings, REAL_TIME), task_slots=SLOTS) as job:
        fleet.wait_for_real_time()
        wait_until(fleet.has_all)
        fleet.send_step()
        job.kill()
    with running_job(settings, *fast_lane(settings, BATCHES), task_slots=SLOTS):
        fleet.send_step_and_wait()

    ids = {event.id for event in fleet.events() if int(str(event.data["number"])) >= BEGIN}
    assert len(ids) == fleet.sent - BEGIN
