"""What runs in a Python worker in real time: tasks, and the thread that reports on them."""

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

import pyarrow as pa
from confluent_kafka import KafkaException
from pyspark import TaskContext

from clients.kafka.producer import NotDurableError
from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.events.times import now_ms
from fleetlane.events.topics import FLEET_HEARTBEATS
from glue_jobs.parse_lane.parse import ParseBatches, freeze_loaded, lane_parser_of
from glue_jobs.parse_lane.real_time.gathering import gathered
from glue_jobs.parse_lane.real_time.progress import Taken, TaskProgress
from glue_jobs.parse_lane.real_time.worker_sink import DELIVERY_TIMEOUT_S, WorkerSink
from glue_jobs.parse_lane.results.output_batches import OutputBatches

HEARTBEAT_INTERVAL_S: Final = 0.5

_DELIVERIES_TOGETHER_S: Final = 0.02
"""Only a batch's end waits for confirmations: three of a message would wake a thread thrice."""

_RUN: Final = "spark.jobGroup.id"
_log = logging.getLogger(__name__)


def parsing_in_real_time(arguments: ParseLaneArguments) -> ParseBatches:
    """The function that Spark runs in its Python workers.

    It writes all outputs itself and returns none: while Spark waits for the next record it reads
    nothing back from a worker. It ends once all of them are durable, and so does the task.
    """

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        worker = _worker(arguments)
        with worker.task() as progress:
            lane_parser = lane_parser_of(arguments)
            sandboxes = lane_parser.sandboxes
            with sandboxes.awake():
                for number, records in enumerate(gathered(batches, on_quiet=sandboxes.rest)):
                    taken = _taken(progress, records)
                    lane_parser.begin_batch()
                    outputs = lane_parser.outputs_of(records)
                    progress.count(worker.sink.write(outputs, progress, taken))
                    progress.parsed(taken)
                    if not number:  # not at the end, where the next batch would wait for it
                        freeze_loaded()
            progress.wait_until_durable(DELIVERY_TIMEOUT_S)
        yield OutputBatches().taken()

    return parse


def _taken(progress: TaskProgress, records: pa.RecordBatch) -> Taken:
    offsets = records.column("offset")
    key = records.column("key")[0].as_py() or b""
    lag_ms = max(0, now_ms() - int(key[:18])) if key.isdigit() else 0  # no time has more digits
    return progress.take(
        records.column("topic")[0].as_py(),
        records.column("partition")[0].as_py(),
        range(offsets[0].as_py(), offsets[len(offsets) - 1].as_py() + 1),
        lag_ms=lag_ms,
    )


class Worker:
    """One a worker process: its producer, and the thread that serves it and sends heartbeats."""

    def __init__(self, arguments: ParseLaneArguments) -> None:
        self.sink = WorkerSink(arguments.kafka_bootstrap_servers, arguments.kafka_security)
        self._progress: TaskProgress | None = None
        self._is_closed = False
        self._sending = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    @contextmanager
    def task(self) -> Iterator[TaskProgress]:
        """One task; its heartbeats begin and end with it."""
        context = TaskContext.get()
        assert context is not None, "Spark runs it in a task"
        progress = TaskProgress(context.getLocalProperty(_RUN) or "", context.partitionId())
        self._send(progress)
        self._progress = progress
        try:
            yield progress
        except BaseException as problem:
            self._end(progress, problem=f"{type(problem).__name__}: {problem}")
            if isinstance(problem, KafkaException | NotDurableError):
                self._is_closed = True  # its producer may be broken for good: the next task has
                _worker.cache_clear()  # another one
            raise
        self._end(progress)

    def _end(self, progress: TaskProgress, problem: str | None = None) -> None:
        self._progress = None
        self._send(progress, problem=problem, is_over=True)
        self.sink.serve(0)

    def _serve(self) -> None:
        due_s = 0.0
        while not self._is_closed:
            try:
                self.sink.serve(HEARTBEAT_INTERVAL_S / 2)
                time.sleep(_DELIVERIES_TOGETHER_S)
            except KafkaException as problem:  # no more can be written; what is silent is noticed
                _log.error("a worker ends, for its producer did: %s", problem)
                os._exit(1)
            progress = self._progress
            if progress is not None and time.monotonic() >= due_s:
                due_s = time.monotonic() + HEARTBEAT_INTERVAL_S
                self._send(progress)

    def _send(
        self, progress: TaskProgress, *, problem: str | None = None, is_over: bool = False
    ) -> None:
        """Send a heartbeat, none after the one that is the last."""
        with self._sending:
            if not is_over and progress.is_over:
                return
            beat = progress.heartbeat(problem=problem, is_over=is_over)
            with suppress(BufferError, KafkaException):  # silence says as much
                self.sink.send(FLEET_HEARTBEATS, beat.to_json())


@cache
def _worker(arguments: ParseLaneArguments) -> Worker:
    return Worker(arguments)
