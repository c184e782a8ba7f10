"""Where topics begin and end, how far consumer groups have read, and the records in between."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from clients.kafka.reader import KafkaUnreadableError, Partition, Record, answer_to, record_of
from clients.kafka.security import security_configuration
from fleetlane.events.job_arguments import KafkaSecurity

_ANSWER_S: Final = 10.0
_SILENCE_S_MAX: Final = 10.0
_CONSUME_WAIT_S: Final = 0.1
_CONSUME_RECORDS_MAX: Final = 500

type Offsets = Mapping[Partition, int]


class Position(NamedTuple):
    """The offset of the next record that a group reads, and the metadata committed with it.

    The note may be followed by garbage: librdkafka's client reads too far.
    """

    offset: int
    note: str


class KafkaPositions:
    """Queries a cluster; changes nothing in it. All may raise ``KafkaUnreadableError``.

    Not for use by several threads. Close it when done.
    """

    def __init__(self, bootstrap_servers: str, security: KafkaSecurity) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers,
            "log_level": 0,
            **security_configuration(security),
        }
        self._admin = AdminClient(settings)
        self._consumer = Consumer(
            {
                **settings,
                "group.id": "fleetlane-reader",  # required by the client, never joined
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )

    def close(self) -> None:
        self._consumer.close()

    def partitions(self, pattern: str) -> list[Partition]:
        """All partitions of the topics whose whole name matches a regular expression."""
        wanted = re.compile(pattern)
        topics = answer_to(lambda timeout_s: self._admin.list_topics(timeout=timeout_s)).topics
        return [
            (name, partition)
            for name, topic in sorted(topics.items())
            if wanted.fullmatch(name) is not None
            for partition in topic.partitions
        ]

    def groups(self, prefix: str) -> dict[str, dict[Partition, Position]]:
        """How far the groups with this prefix have read."""
        listed = _result(self._admin.list_consumer_groups(request_timeout=_ANSWER_S))
        names = sorted(one.group_id for one in listed.valid if one.group_id.startswith(prefix))
        return {name: self._positions(name) for name in names}

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        return self._offsets(partitions, OFFSET_BEGINNING)

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        return self._offsets(partitions, OFFSET_END)

    def at_time(self, partitions: Iterable[Partition], time_ms: int) -> Offsets:
        """The first record of each partition that was written at that time or later, or its end."""
        wanted = list(partitions)
        found, ends = self._offsets(wanted, time_ms), self.ends(wanted)
        return {one: ends[one] if offset < 0 else offset for one, offset in found.items()}

    def records(self, begins: Offsets, ends: Offsets) -> Iterator[Record]:
        """The records from one offset of each partition to before another; order holds within."""
        left = {one: ends[one] for one, begin in begins.items() if begin < ends[one]}
        self._consumer.assign([TopicPartition(*one, begins[one]) for one in left])
        newest_s = time.monotonic()
        while left:
            for message in self._consumer.consume(_CONSUME_RECORDS_MAX, _CONSUME_WAIT_S):
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                if message.error() is not None or topic is None or partition is None:
                    continue
                assert offset is not None
                newest_s, end = time.monotonic(), left.get((topic, partition), 0)
                if offset < end:
                    yield record_of(message, topic, partition, offset)
                if offset + 1 >= end:
                    left.pop((topic, partition), None)
            if time.monotonic() - newest_s > _SILENCE_S_MAX:
                raise KafkaUnreadableError(f"no record for {_SILENCE_S_MAX:.0f} s")

    def _positions(self, group: str) -> dict[Partition, Position]:
        answer = self._admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=_ANSWER_S
        )
        found = _result(answer[group]).topic_partitions or []
        return {
            (one.topic, one.partition): Position(one.offset, one.metadata or "")
            for one in found
            if one.offset >= 0
        }

    def _offsets(self, partitions: Iterable[Partition], time_ms: int) -> Offsets:
        """The offsets of a time, or of Kafka's numbers for the beginning and the end."""
        wanted = [TopicPartition(*one, time_ms) for one in partitions]
        if not wanted:
            return {}
        found = answer_to(
            lambda timeout_s: self._consumer.offsets_for_times(wanted, timeout=timeout_s)
        )
        errors = [one.error for one in found if one.error is not None]
        if errors:
            raise KafkaUnreadableError(str(errors[0]))
        return {(one.topic, one.partition): one.offset for one in found}


def _result(answer: "Future[Any]") -> Any:
    try:
        return answer.result(timeout=2 * _ANSWER_S)
    except (KafkaException, TimeoutError) as problem:
        raise KafkaUnreadableError(str(problem)) from None
