"""Reading topics as they are, from where reading stopped before, without a consumer group."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from fleetlane.events.envelope import Header
from fleetlane.events.errors import FleetlaneError

_REQUEST_TIMEOUT_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.1
_SILENCE_S_MAX: Final = 10.0
_CONSUME_WAIT_S: Final = 0.1
_CONSUME_RECORDS_MAX: Final = 500

type Partition = tuple[str, int]


class KafkaUnreadableError(FleetlaneError):
    """Kafka does not answer just now. What was read stays read: reading may be tried again."""

    reason = "kafka_unreadable"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"Kafka cannot be read: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it stands in Kafka. ``timestamp_ms`` is when it was written."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


class KafkaReader:
    """Reads all partitions of some topics, each record once. Nothing is committed in Kafka.

    Not for use by several threads. Close it when done.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        is_from_end: bool = False,
    ) -> None:
        """Describe what is to be read; nothing waits for the broker yet.

        Args:
            bootstrap_servers: ``host:port``, several separated by commas.
            topics: Names of topics to read. One that is missing is read once it appears.
            pattern: A regular expression; topics whose whole name matches are read too.
            is_from_end: Leave out what stands there at the first reading. What appears later,
                topics and partitions included, is read from its beginning either way.
        """
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "fleetlane-reader",  # required by the client, never joined
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._topics = frozenset(topics)
        self._pattern = None if pattern is None else re.compile(pattern)
        self._is_from_end = is_from_end
        self._next_offsets: dict[Partition, int] = {}

    def close(self) -> None:
        self._consumer.close()

    def read_available(self, *, records_max: int = 10_000) -> list[Record]:
        """Read on to where the topics end right now, or to ``records_max`` records or a few more.

        An empty list says that nothing is left to read. Order holds within a partition only.

        Raises:
            KafkaUnreadableError: Kafka did not answer for several seconds.
        """
        ends = self._ends()
        self._assign_new(ends)
        records: list[Record] = []
        heard_s = time.monotonic()
        while len(records) < records_max and self._is_behind(ends):
            messages = self._consumer.consume(_CONSUME_RECORDS_MAX, _CONSUME_WAIT_S)
            taken = list(self._taken(messages))
            records.extend(taken)
            if taken:
                heard_s = time.monotonic()
            elif time.monotonic() - heard_s > _SILENCE_S_MAX:
                if records:
                    break  # they count as read from here on
                raise KafkaUnreadableError(f"no record for {_SILENCE_S_MAX:.0f} s")
        return records

    def _is_behind(self, ends: dict[Partition, int]) -> bool:
        return any(self._next_offsets[partition] < end for partition, end in ends.items())

    def _ends(self) -> dict[Partition, int]:
        """The offset after the last record of each partition that is to be read."""
        found = answer_to(lambda timeout_s: self._consumer.list_topics(timeout=timeout_s)).topics
        partitions = [
            (name, partition)
            for name, topic in found.items()
            if self._wants(name)
            for partition in topic.partitions
        ]
        return self._offsets(partitions, OFFSET_END)

    def _wants(self, topic: str) -> bool:
        if topic in self._topics:
            return True
        return self._pattern is not None and self._pattern.fullmatch(topic) is not None

    def _offsets(self, partitions: list[Partition], place: int) -> dict[Partition, int]:
        """The offsets of a ``place``: Kafka's numbers for beginning and end stand in for a time."""
        if not partitions:
            return {}
        asked = [TopicPartition(*partition, place) for partition in partitions]
        found = answer_to(
            lambda timeout_s: self._consumer.offsets_for_times(asked, timeout=timeout_s)
        )
        errors = [one.error for one in found if one.error is not None]
        if errors:
            raise KafkaUnreadableError(str(errors[0]))
        return {(one.topic, one.partition): one.offset for one in found}

    def _assign_new(self, ends: dict[Partition, int]) -> None:
        new = [partition for partition in ends if partition not in self._next_offsets]
        if not new:
            self._is_from_end = False
            return
        starts = ends if self._is_from_end else self._offsets(new, OFFSET_BEGINNING)
        self._is_from_end = False
        self._next_offsets |= {partition: starts[partition] for partition in new}
        self._consumer.incremental_assign(
            [TopicPartition(*partition, self._next_offsets[partition]) for partition in new]
        )

    def _taken(self, messages: Iterable[Message]) -> Iterator[Record]:
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if topic is None or partition is None or offset is None:
                continue  # an error of no partition: the silence after it is what counts
            error = message.error()
            if error is None:
                self._next_offsets[topic, partition] = offset + 1
                yield record_of(message, topic, partition, offset)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                self._next_offsets[topic, partition] = offset


def answer_to[T](question: Callable[[float], T]) -> T:
    """Ask again for a while: a topic just made, or a broker just back, has no leader at first."""
    give_up_s = time.monotonic() + _REQUEST_TIMEOUT_S
    while True:
        try:
            return question(max(_ASK_AGAIN_S, give_up_s - time.monotonic()))
        except KafkaException as problem:
            if time.monotonic() > give_up_s:
                raise KafkaUnreadableError(str(problem)) from None
            time.sleep(_ASK_AGAIN_S)


def record_of(message: Message, topic: str, partition: int, offset: int) -> Record:
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=_headers(message),
    )


def _headers(message: Message) -> tuple[Header, ...]:
    headers = message.headers() or []
    assert isinstance(headers, list), "only what is to be produced may have a dict"
    return tuple((name, value) for name, value in headers if not isinstance(value, str))
