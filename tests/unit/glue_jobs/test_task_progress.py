"""A task in real time is as far as all before is parsed, and durable in Kafka."""

import threading

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Message

from clients.kafka.producer import NotDurableError
from fleetlane.events.heartbeats import heartbeat_from
from glue_jobs.parse_lane.real_time.progress import MESSAGES_MAX, TaskProgress
from glue_jobs.parse_lane.real_time.workers import _taken
from tests.unit.glue_jobs.conftest import RAW_SCHEMA, message_of, record_of

DELIVERED = Message(topic="canonical.pulse")
FAILED = KafkaError(KafkaError._MSG_TIMED_OUT)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def progress() -> TaskProgress:
    return TaskProgress("run-1", 0, monotonic=Clock())


def test_an_offset_is_durable_once_all_before_it_is(progress: TaskProgress) -> None:
    first = progress.take("raw.fast", 1, range(7, 8), lag_ms=3)
    second = progress.take("raw.fast", 1, range(8, 10), lag_ms=2)
    of_first, of_second = (progress.begin_outputs(one, 1) for one in (first, second))
    progress.parsed(first)
    progress.parsed(second)

    of_second(None, DELIVERED)
    before = progress.heartbeat()
    of_first(None, DELIVERED)

    assert (before.topic, before.partition, before.durable_offset) == ("raw.fast", 1, 7)
    assert progress.heartbeat().durable_offset == 10


def test_records_are_done_once_all_of_their_outputs_are(progress: TaskProgress) -> None:
    taken = progress.take("raw.fast", 0, range(5), lag_ms=0)
    on_delivery = progress.begin_outputs(taken, 2)
    progress.parsed(taken)

    on_delivery(None, DELIVERED)
    before = progress.heartbeat()
    on_delivery(None, DELIVERED)

    assert (before.durable_offset, progress.heartbeat().durable_offset) == (0, 5)


def test_outputs_wait_while_they_would_be_too_many_on_their_way(progress: TaskProgress) -> None:
    taken = progress.take("raw.fast", 0, range(1), lag_ms=0)
    on_delivery = progress.begin_outputs(taken, MESSAGES_MAX)

    waiting = threading.Thread(target=progress.begin_outputs, args=(taken, 2), daemon=True)
    waiting.start()
    on_delivery(None, DELIVERED)
    waiting.join(0.1)
    is_waiting = waiting.is_alive()
    on_delivery(None, DELIVERED)
    waiting.join(10)

    assert (is_waiting, waiting.is_alive()) == (True, False)


def test_a_message_without_outputs_so_far_is_not_done(progress: TaskProgress) -> None:
    taken = progress.take("raw.fast", 0, range(1), lag_ms=0)

    before = progress.heartbeat()
    progress.parsed(taken)

    assert before.durable_offset == 0
    assert progress.heartbeat().durable_offset == 1


def test_a_failed_output_ends_the_task_and_is_reported(progress: TaskProgress) -> None:
    taken = progress.take("raw.fast", 0, range(5, 6), lag_ms=0)
    progress.begin_outputs(taken, 1)(FAILED, DELIVERED)

    beat = progress.heartbeat()

    assert "canonical.pulse confirmed nothing" in (beat.problem or "")
    with pytest.raises(NotDurableError):
        progress.parsed(taken)
    with pytest.raises(NotDurableError):
        progress.begin_outputs(taken, 1)
    assert progress.heartbeat().durable_offset == 5


def test_what_is_not_confirmed_in_time_ends_the_task(progress: TaskProgress) -> None:
    taken = progress.take("raw.fast", 0, range(1), lag_ms=0)
    progress.begin_outputs(taken, 1)
    progress.parsed(taken)

    with pytest.raises(NotDurableError, match="1 on their way"):
        progress.wait_until_durable(0.01)


def test_a_heartbeat_says_how_long_the_oldest_message_waits() -> None:
    clock = Clock()
    progress = TaskProgress("run-1", 3, monotonic=clock)
    progress.take("raw.fast", 0, range(1), lag_ms=40)
    progress.count({"Parsed": 2})

    clock.now_s += 1.5
    first, second = progress.heartbeat(), progress.heartbeat()

    assert (first.waits_ms, first.lag_ms, first.counts) == (1500, 40, {"Parsed": 2})
    assert (second.waits_ms, second.lag_ms, second.counts) == (1500, 0, {})


def test_a_heartbeat_is_read_as_it_was_written(progress: TaskProgress) -> None:
    beat = progress.heartbeat(problem="no parser", is_over=True)

    assert heartbeat_from(beat.to_json()) == beat
    assert heartbeat_from(b"canary") is None
    assert heartbeat_from(None) is None


@pytest.mark.parametrize("key", [b"", b"d-17", b"9" * 18, b"9" * 5_000], ids=len)
def test_a_key_that_is_no_time_says_nothing_of_the_lag(progress: TaskProgress, key: bytes) -> None:
    record = record_of(message_of(b"{}"))._replace(key=key, headers=[])

    _taken(progress, pa.RecordBatch.from_pylist([record._asdict()], schema=RAW_SCHEMA))

    assert progress.heartbeat().lag_ms == 0
