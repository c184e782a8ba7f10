"""Reading topics as they are, from where reading stopped before, without a consumer group."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import confluent_kafka

from clients.kafka.security import security_configuration
from fleetlane.events.envelope import Record
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity

_REQUEST_TIMEOUT_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.1
_SILENCE_S_MAX: Final = 10.0
_CONSUME_WAIT_S: Final = 0.02
_CONSUME_RECORDS_MAX: Final = 500

type Partition = tuple[str, int]
type Offsets = Mapping[Partition, int]


class KafkaUnreadableError(FleetlaneError):
    """Kafka does not answer just now. What was read stays read: reading may be tried again."""

    problem: str
    sentence = "Kafka cannot be read: {problem}"


_READING: Final = {
    "group.id": "fleetlane-reader",  # required by the client, never joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 50,
    "fetch.max.bytes": 4 << 20,  # within the time-out by a slow link, too
    "reconnect.backoff.max.ms": 500,
    "socket.timeout.ms": 5_000,
    "socket.connection.setup.timeout.ms": 10_000,
    "log_level": 0,
}


class KafkaReader:
    """Reads all partitions of some topics, each record once. Nothing is committed in Kafka.

    Not for use by several threads. Close it when done. What reads or looks up raises
    ``KafkaUnreadableError``: Kafka did not answer for several seconds.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        is_from_end: bool = False,
        since_ms: int | None = None,
        security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
    ) -> None:
        """Describe what is to be read; nothing waits for the broker yet.

        Topics whose whole name matches ``pattern`` are read too; one that is missing is read once
        it appears. ``since_ms`` leaves out what was written before, by Kafka's timestamps,
        ``is_from_end`` what is there at the first reading: topics and partitions that appear later
        are read from their beginning either way. Raises ``KafkaUnreadableError`` where no
        token could be made for Kafka, within ten seconds.
        """
        reach = {"bootstrap.servers": bootstrap_servers, **security_configuration(security)}
        self._configuration = {**_READING, **reach}
        self._consumer = self._connected()
        patterns = [*map(re.escape, topics), *([] if pattern is None else [pattern])]
        self._wanted = "|".join(patterns)
        self._is_from_end, self._since_ms = is_from_end, since_ms
        self._next_offsets: dict[Partition, int] = {}

    def close(self) -> None:
        self._consumer.close()

    def read_available(self, *, records_max: int = 10_000) -> list[Record]:
        """Read on to where the topics end right now, or to ``records_max`` records or a few more.

        An empty list says that nothing is left to read. Order holds within a partition only.
        """
        return self._read_on(self.ends(self.partitions(self._wanted)), records_max)

    def read_once(self) -> Iterator[Record]:
        """Read on to where the topics end at the call, whatever is written meanwhile."""
        ends = self.ends(self.partitions(self._wanted))
        while records := self._read_on(ends, _CONSUME_RECORDS_MAX, is_capped=True):
            yield from records

    def read_between(self, begins: Offsets, ends: Offsets) -> Iterator[Record]:
        """Read from one offset of each partition to before another, and nothing else any more."""
        self._next_offsets = {one: begin for one, begin in begins.items() if begin < ends[one]}
        self._consumer.assign(_at(self._next_offsets))
        wanted = {one: ends[one] for one in self._next_offsets}
        while records := self._read_on(wanted, _CONSUME_RECORDS_MAX, is_capped=True):
            yield from records

    def partitions(self, pattern: str) -> list[Partition]:
        """All partitions of the topics whose whole name matches a regular expression."""
        wanted = re.compile(pattern)
        return [one for one in self.all_partitions() if wanted.fullmatch(one[0])]

    def all_partitions(self) -> list[Partition]:
        """The partitions of all topics, sorted by topic; Kafka's own are among them."""
        topics = self._answered(lambda consumer, s: consumer.list_topics(timeout=s)).topics
        return [(name, one) for name, topic in sorted(topics.items()) for one in topic.partitions]

    def beginnings(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._offsets(partitions, confluent_kafka.OFFSET_BEGINNING)

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The offset after the last record of each partition."""
        return self._offsets(partitions, confluent_kafka.OFFSET_END)

    def at_time(
        self, partitions: Iterable[Partition], time_ms: int, ends: Offsets | None = None
    ) -> dict[Partition, int]:
        """The first record of each partition that was written at that time or later, or its end."""
        wanted = list(partitions)
        ends = self.ends(wanted) if ends is None else ends
        found = self._offsets(wanted, time_ms)
        return {one: ends[one] if offset < 0 else offset for one, offset in found.items()}

    def _offsets(self, partitions: Iterable[Partition], time_ms: int) -> dict[Partition, int]:
        """As Kafka gives them: negative where all is older than ``time_ms``."""
        wanted = [confluent_kafka.TopicPartition(*one, time_ms) for one in partitions]
        if not wanted:
            return {}
        found = self._answered(lambda consumer, s: consumer.offsets_for_times(wanted, timeout=s))
        errors = [one.error for one in found if one.error is not None]
        if errors:
            raise KafkaUnreadableError(str(errors[0]))
        return {(one.topic, one.partition): one.offset for one in found}

    def _read_on(self, ends: Offsets, records_max: int, *, is_capped: bool = False) -> list[Record]:
        self._assign_new(ends)
        records: list[Record] = []
        newest_s = time.monotonic()
        while len(records) < records_max and any(
            self._next_offsets[partition] < end for partition, end in ends.items()
        ):
            messages = self._consumer.consume(_CONSUME_RECORDS_MAX, _CONSUME_WAIT_S)
            taken = list(self._taken(messages))
            # What comes behind the ends is no progress towards them: one partition may hang alone.
            within = [one for one in taken if one.offset < ends.get((one.topic, one.partition), 0)]
            records.extend(within if is_capped else taken)
            if within:
                newest_s = time.monotonic()
            elif time.monotonic() - newest_s > _SILENCE_S_MAX:
                self._begin_anew()
                if records:
                    break  # they count as read from here on
                raise KafkaUnreadableError(f"no record for {_SILENCE_S_MAX:.0f} s")
        return records

    def _assign_new(self, ends: Offsets) -> None:
        new = [partition for partition in ends if partition not in self._next_offsets]
        if new:
            since = confluent_kafka.OFFSET_BEGINNING if self._since_ms is None else self._since_ms
            starts = ends if self._is_from_end else self.at_time(new, since, ends)
            begins = {partition: starts[partition] for partition in new}
            self._next_offsets |= begins
            self._consumer.incremental_assign(_at(begins))
        self._is_from_end = False

    def _taken(self, messages: Iterable[confluent_kafka.Message]) -> Iterator[Record]:
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            if topic is None or partition is None or offset is None:
                continue  # an error of no partition: the silence after it is what counts
            error = message.error()
            if error is None:
                self._next_offsets[topic, partition] = offset + 1
                yield _record(message, topic, partition, offset)
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001
                self._next_offsets[topic, partition] = offset

    def _answered[T](self, question: Callable[[confluent_kafka.Consumer, float], T]) -> T:
        """Ask for a while: a topic just made, or a broker just back, has no leader at first."""
        give_up_s = time.monotonic() + _REQUEST_TIMEOUT_S
        while True:
            try:
                return question(self._consumer, max(_ASK_AGAIN_S, give_up_s - time.monotonic()))
            except confluent_kafka.KafkaException as problem:
                if time.monotonic() > give_up_s:
                    self._begin_anew()
                    raise KafkaUnreadableError(str(problem)) from None
                time.sleep(_ASK_AGAIN_S)

    def _begin_anew(self) -> None:
        """Go on by another client: fetches may hang, and one may find no broker any more.

        librdkafka 2.16 does, where the only broker was just coming back when it first asked.
        """
        fresh = self._connected()
        self._consumer.close()
        self._consumer = fresh
        self._consumer.assign(_at(self._next_offsets))

    def _connected(self) -> confluent_kafka.Consumer:
        try:
            return confluent_kafka.Consumer(self._configuration)
        except confluent_kafka.KafkaException as problem:
            raise KafkaUnreadableError(str(problem)) from None


def _at(offsets: Offsets) -> list[confluent_kafka.TopicPartition]:
    return [confluent_kafka.TopicPartition(*one, offset) for one, offset in offsets.items()]


def _record(message: confluent_kafka.Message, topic: str, partition: int, offset: int) -> Record:
    headers = message.headers() or []
    assert isinstance(headers, list), "only what is to be produced may have a dict"
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=tuple((name, value) for name, value in headers if not isinstance(value, str)),
    )
