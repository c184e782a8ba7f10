"""All records that stand in some topics now, for who looks back: once through, and no further."""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from typing import Protocol

from clients.kafka.reader import KafkaReader, Record
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.parked import KafkaPosition


class RecordStore(Protocol):
    """Where records stand; ``StoredRecords`` is the real one."""

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterable[Record]:
        """Give what stands in the topics whose whole name matches, written since then."""


def records_at(
    store: RecordStore,
    pattern: str,
    positions: Container[KafkaPosition],
    *,
    since_ms: int | None = None,
) -> Iterator[Record]:
    """Read topics once more, for the records that stand at some positions."""
    for record in store.matching(pattern, since_ms=since_ms):
        if position_of(record) in positions:
            yield record


def position_of(record: Record) -> KafkaPosition:
    return KafkaPosition(topic=record.topic, partition=record.partition, offset=record.offset)


class StoredRecords:
    """The records of one Kafka. ``on_read`` is told how many were read in all, each time."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
        on_read: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._bootstrap_servers, self._security = bootstrap_servers, security
        self._on_read, self._read = on_read, 0

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        """Give them in the order of each partition; what is written meanwhile is left out.

        Raises:
            KafkaUnreadableError: Kafka does not answer.
        """
        reader = KafkaReader(
            self._bootstrap_servers, pattern=pattern, since_ms=since_ms, security=self._security
        )
        with closing(reader):
            for record in reader.read_once():
                self._read += 1
                self._on_read(self._read)
                yield record
