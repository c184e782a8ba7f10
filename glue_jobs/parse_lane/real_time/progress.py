"""How far a task in real time is: what it took, and what came of it that is not durable yet."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, Message

from clients.kafka.producer import NotDurableError
from fleetlane.events.heartbeats import Heartbeat
from fleetlane.events.times import now_ms

MESSAGES_MAX: Final = 10_000
"""So many outputs are on their way to Kafka at most; more wait."""


@dataclass(slots=True, kw_only=True)
class Taken:
    """Records that a task took together, and what is still to be confirmed of them."""

    next_offset: int
    taken_s: float
    open_outputs: int = 0
    is_parsed: bool = False


class TaskProgress:
    """One task's. The task takes and parses; another thread confirms and reports.

    All before ``durable_offset`` is parsed, and all that came of it confirmed, in order.
    """

    def __init__(
        self, run: str, task: int, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._task, self._monotonic = run, task, monotonic
        self._changed = threading.Condition()
        self._taken = deque[Taken]()
        self._topic: str | None = None
        self._partition: int | None = None
        self._durable_offset: int | None = None
        self._problem: NotDurableError | None = None
        self._counts, self._lag_ms, self._in_flight = Counter[str](), 0, 0
        self.is_over = False
        """Whether the last heartbeat was given."""

    def take(self, topic: str, partition: int, offsets: range, *, lag_ms: int) -> Taken:
        """Note records that are about to be parsed."""
        taken = Taken(next_offset=offsets.stop, taken_s=self._monotonic())
        with self._changed:
            if self._topic is None:
                self._topic, self._partition = topic, partition
                self._durable_offset = offsets.start
            self._taken.append(taken)
            self._lag_ms = max(self._lag_ms, lag_ms)
        return taken

    def begin_outputs(
        self, taken: Taken, count: int
    ) -> Callable[[KafkaError | None, Message], None]:
        """Count outputs as on their way, once there is room; give what each delivery calls."""
        with self._changed:
            self._changed.wait_for(lambda: self._in_flight + count <= MESSAGES_MAX or self._problem)
            self._raise_problem()
            taken.open_outputs += count
            self._in_flight += count

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            with self._changed:
                taken.open_outputs -= 1
                self._in_flight -= 1
                if error is not None and self._problem is None:
                    waited_s = self._monotonic() - taken.taken_s
                    self._problem = NotDurableError(message.topic() or "", waited_s, error.str())
                self._advance()

        return on_delivery

    def count(self, counts: Mapping[str, int]) -> None:
        with self._changed:
            self._counts.update(counts)

    def parsed(self, taken: Taken) -> None:
        """Note that all that comes of records is sent; raises ``NotDurableError`` if any failed."""
        with self._changed:
            taken.is_parsed = True
            self._advance()
            self._raise_problem()

    def wait_until_durable(self, within_s: float) -> None:
        """Block until all is confirmed; raises ``NotDurableError`` if any failed, or is late."""
        with self._changed:
            self._changed.wait_for(lambda: not self._in_flight or self._problem, within_s)
            self._raise_problem()
            if self._in_flight:
                problem = f"{self._in_flight} on their way"
                raise NotDurableError(self._topic or "", within_s, problem)

    def heartbeat(self, *, problem: str | None = None, is_over: bool = False) -> Heartbeat:
        """What is to be reported now; what counts since the last one begins anew."""
        with self._changed:
            self.is_over = is_over
            counts, self._counts = dict(self._counts), Counter()
            lag_ms, self._lag_ms = self._lag_ms, 0
            oldest_s = self._taken[0].taken_s if self._taken else self._monotonic()
            return Heartbeat(
                run=self._run,
                task=self._task,
                sent_ms=now_ms(),
                topic=self._topic,
                partition=self._partition,
                durable_offset=self._durable_offset,
                waits_ms=int((self._monotonic() - oldest_s) * 1000),
                lag_ms=lag_ms,
                counts=counts,
                problem=problem or (None if self._problem is None else str(self._problem)),
                is_over=is_over,
            )

    def _advance(self) -> None:
        while self._taken and self._taken[0].is_parsed and not self._taken[0].open_outputs:
            if self._problem is None:
                self._durable_offset = self._taken[0].next_offset
            self._taken.popleft()
        self._changed.notify_all()

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise self._problem
