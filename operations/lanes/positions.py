"""Where topics begin and end, how far consumer groups have read, and the records in between."""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    ConsumerGroupTopicPartitions,
    KafkaException,
)
from confluent_kafka.admin import AdminClient

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Offsets, Partition, Record
from clients.kafka.security import security_configuration
from fleetlane.events.job_arguments import KafkaSecurity

_ANSWER_S: Final = 10.0


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
        self._admin = AdminClient(
            {
                "bootstrap.servers": bootstrap_servers,
                "log_level": 0,
                **security_configuration(security),
            }
        )
        self._reader = KafkaReader(bootstrap_servers, security=security)

    def close(self) -> None:
        self._reader.close()

    def partitions(self, pattern: str) -> list[Partition]:
        """All partitions of the topics whose whole name matches a regular expression."""
        wanted = re.compile(pattern)
        return [one for one in self._reader.all_partitions() if wanted.fullmatch(one[0])]

    def groups(self, prefix: str) -> dict[str, dict[Partition, Position]]:
        """How far the groups with this prefix have read."""
        listed = _result(self._admin.list_consumer_groups(request_timeout=_ANSWER_S))
        names = sorted(one.group_id for one in listed.valid if one.group_id.startswith(prefix))
        return {name: self._positions(name) for name in names}

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        return self._reader.offsets(partitions, OFFSET_BEGINNING)

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        return self._reader.offsets(partitions, OFFSET_END)

    def at_time(self, partitions: Iterable[Partition], time_ms: int) -> Offsets:
        """The first record of each partition that was written at that time or later, or its end."""
        wanted = list(partitions)
        return self._reader.offsets_since(wanted, time_ms, self.ends(wanted))

    def records(self, begins: Offsets, ends: Offsets) -> Iterator[Record]:
        """The records from one offset of each partition to before another; order holds within."""
        return self._reader.read_between(begins, ends)

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


def _result(answer: "Future[Any]") -> Any:
    try:
        return answer.result(timeout=2 * _ANSWER_S)
    except (KafkaException, TimeoutError) as problem:
        raise KafkaUnreadableError(str(problem)) from None
