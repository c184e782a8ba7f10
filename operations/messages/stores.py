"""Where messages are kept: records in Kafka, read up to the present end, and payloads in S3."""

import heapq
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from copy import replace
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

from clients.aws import AwsSettings, S3Client, s3_client
from clients.kafka.producer import KafkaProducer
from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import PayloadBucket, copying_client, parked_key
from fleetlane.events import headers as ce
from fleetlane.events.envelope import KafkaPosition, Message, PayloadReference, Record
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import BUFFER_BYTES_MAX, Lane
from fleetlane.events.stage_resources import StageResources
from fleetlane.events.topic_patterns import raw_pattern
from fleetlane.events.topics import PARKED
from operations.messages.parked import message_in

_POLL_INTERVAL_S: Final = 0.2
_RECORDS_AT_ONCE: Final = 500


class NoSuchTopicError(FleetlaneError):
    """There is no topic of this name now."""

    topic: str
    topics: str
    sentence = "there is no topic {topic!r}; there are: {topics}"


def tail(
    servers: str,
    topic: str,
    *,
    from_beginning: bool,
    silence_s_max: float | None,
    takes: Callable[[Record], bool] = lambda _: True,
    security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
) -> Generator[Record]:
    """Give records of a topic, as they are written; ends after ``silence_s_max`` without one.

    What it does not take breaks no silence. Raises ``KafkaUnreadableError``, ``NoSuchTopicError``.
    """
    reader = KafkaReader(servers, topics=[topic], is_from_end=not from_beginning, security=security)
    with closing(reader):
        names = dict.fromkeys(name for name, _ in reader.all_partitions())
        topics = [name for name in names if not name.startswith("__")]  # but Kafka's own
        if topic not in topics:
            raise NoSuchTopicError(topic, ", ".join(topics))
        newest_s = time.monotonic()
        while True:
            records = reader.read_available(records_max=_RECORDS_AT_ONCE)
            taken = list(filter(takes, records))
            yield from taken
            if taken or len(records) >= _RECORDS_AT_ONCE:  # more of them are there already
                newest_s = time.monotonic()
            elif silence_s_max is not None and time.monotonic() - newest_s >= silence_s_max:
                return
            elif not records:
                time.sleep(_POLL_INTERVAL_S)


_DELIVERY_TIMEOUT_S: Final = 30.0
_REFERENCE_HEADERS: Final = frozenset({ce.DATA_REF, ce.DATA_SHA256})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPayloads:
    """Both buckets: what landed expires, what is parked does not.

    They are opened where they are asked: most bodies are in their records.
    """

    landed: Callable[[], PayloadBucket]
    parked: Callable[[], PayloadBucket]

    def located(self, reference: PayloadReference) -> PayloadReference | None:
        """A reference that the jobs can follow now; ``None`` where the payload is gone."""
        kept = replace(reference, key=parked_key(reference.key))
        if kept != reference and self.landed().has(reference.key):
            return reference
        return kept if self.parked().has(kept.key) else None

    def body_of(self, message: Message) -> bytes:
        """The bytes that the device sent; raises the errors of ``PayloadBucket.get``."""
        reference = message.reference
        if reference is None:
            return message.body or b""
        found = self.located(reference) or reference
        opened = self.parked if found.key == parked_key(found.key) else self.landed
        return opened().get(found, body_bytes=message.body_bytes, bytes_max=BUFFER_BYTES_MAX)

    def self_contained(self, record: Record) -> Record:
        """A stored record with its body by value, fetched if need be: a file needs no bucket."""
        message = message_in(record)
        if message is None or message.reference is None:
            return record
        headers = (one for one in record.headers if one[0].lower() not in _REFERENCE_HEADERS)
        return replace(record, value=self.body_of(message), headers=tuple(headers))


class RecordStore(Protocol):
    """Where records are stored; ``StoredRecords`` is the real one."""

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterable[Record]:
        """Give the records of the topics whose whole name matches, written since then."""


class RecordSource(Protocol):
    """Gives what is new in some topics; a ``KafkaReader`` is one."""

    def read_available(self) -> Sequence[Record]: ...


def records_at(
    store: RecordStore,
    pattern: str,
    positions: Iterable[KafkaPosition],
    *,
    since_ms: int | None = None,
) -> Iterator[Record]:
    """Read topics again, for the records at some positions: each once, and no further."""
    left = set(positions)
    for record in store.matching(pattern, since_ms=since_ms) if left else ():
        if record.position in left:
            left.remove(record.position)
            yield record
        if not left:
            return


@dataclass
class StoredRecords:
    """The records of one Kafka. ``on_read`` is called with the number of records read so far."""

    opened: Callable[..., KafkaReader]
    on_read: Callable[[int], None] = lambda _: None
    _read: int = field(default=0, init=False)

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        """Give records in the order of each partition; what is written meanwhile is left out.

        Raises ``KafkaUnreadableError``.
        """
        with closing(self.opened(pattern=pattern, since_ms=since_ms)) as reader:
            for record in reader.read_once():
                self._read += 1
                self.on_read(self._read)
                yield record


@dataclass(frozen=True, kw_only=True)
class MessageStores:
    """The Kafka, and the payloads, of one platform or stage; S3 is opened where it is asked for."""

    resources: StageResources
    aws: AwsSettings

    @cached_property
    def _s3(self) -> S3Client:
        return s3_client(self.aws)

    @property
    def landed_bodies(self) -> PayloadBucket:
        return PayloadBucket(self._s3, self.resources.payload_bucket)

    @property
    def parked_bodies(self) -> PayloadBucket:
        return PayloadBucket(self._s3, self.resources.parked_bucket)

    @property
    def payloads(self) -> StoredPayloads:
        return StoredPayloads(landed=lambda: self.landed_bodies, parked=lambda: self.parked_bodies)

    @property
    def archived_bodies(self) -> PayloadBucket:
        copies = copying_client(self.aws)
        return PayloadBucket(self._s3, self.resources.lake_bucket, copies=copies)

    def records(self, on_read: Callable[[int], None] = lambda _: None) -> StoredRecords:
        """All records in Kafka; ``on_read`` receives how many were read so far."""
        return StoredRecords(self.reader, on_read)

    def reader(self, pattern: str | None = None, *, since_ms: int | None = None) -> KafkaReader:
        """Reads on in the topics that match, from what was written since then; to be closed."""
        servers, security = self.resources.kafka_bootstrap_servers, self.resources.kafka_security
        return KafkaReader(servers, pattern=pattern, since_ms=since_ms, security=security)

    def producer(self) -> KafkaProducer:
        return KafkaProducer(
            bootstrap_servers=self.resources.kafka_bootstrap_servers,
            security=self.resources.kafka_security,
            delivery_timeout_s=_DELIVERY_TIMEOUT_S,
        )


def latest_records(
    stored: RecordStore, where: str, stream: str, *, records_max: int
) -> Sequence[Record]:
    """The latest records of a stream, ``parked`` or ``raw``, by when they were written."""
    records = stored.matching(PARKED if where == "parked" else raw_pattern(*Lane))
    of_stream = (record for record in records if (ce.TYPE, stream.encode()) in record.headers)
    return heapq.nlargest(
        records_max, of_stream, key=lambda one: (one.timestamp_ms, one.partition, one.offset)
    )[::-1]
