"""All records that are in some topics now: read once, up to the present end."""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from typing import Protocol

from clients.kafka.reader import KafkaReader, Record
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.job_arguments import KafkaSecurity


class RecordStore(Protocol):
    """Where records are stored; ``StoredRecords`` is the real one."""

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterable[Record]:
        """Give the records of the topics whose whole name matches, written since then."""


def records_at(
    store: RecordStore,
    pattern: str,
    positions: Container[KafkaPosition],
    *,
    since_ms: int | None = None,
) -> Iterator[Record]:
    """Read topics again, for the records at some positions."""
    for record in store.matching(pattern, since_ms=since_ms):
        if record.position in positions:
            yield record


class StoredRecords:
    """The records of one Kafka. ``on_read`` is called with the number of records read so far."""

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
        """Give records in the order of each partition; what is written meanwhile is left out.

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
