"""Canonical events from Kafka in batches: what a batch is for is done before its offsets count."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Self

import confluent_kafka
import msgspec
from confluent_kafka import KafkaException, TopicPartition

from fleetlane.events.canonical import CanonicalEvent, canonical_event_from

_SETTINGS: Final = {
    "auto.offset.reset": "earliest",
    "partition.assignment.strategy": "cooperative-sticky",
    "enable.auto.commit": False,
}
_log = logging.getLogger(__name__)


class EventReader:
    """A member of a consumer group; not for several threads. Leaving its block leaves the group.

    ``settings`` are librdkafka's, for how to log in, say. A topic is ``canonical.<stream>``, or
    ``unique.<stream>`` of a flow with ``[dedupe]``. Each event comes at least once: again after a
    crash, or when partitions move to another member. So what is done with one must do no harm when
    it is done twice.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group: str,
        topics: Iterable[str],
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Join once the first batch is asked for. Raises ``KafkaException`` at a bad setting."""
        reach = {"bootstrap.servers": bootstrap_servers, "group.id": group}
        self._consumer = confluent_kafka.Consumer({**(settings or {}), **_SETTINGS, **reach})
        self._consumer.subscribe(list(topics))

    @contextmanager
    def batch(
        self, *, events_max: int = 1_000, wait_s: float = 1.0
    ) -> Iterator[list[CanonicalEvent]]:
        """Wait up to ``wait_s`` for as many events; none is an empty list.

        Their offsets are committed when the block ends. Where it raises, the same events come again
        with the next batch. What is no event is logged with its place, and passed over.
        """
        records = [one for one in self._consumer.consume(events_max, wait_s) if _is_record(one)]
        try:
            yield [event for one in records if (event := _event_in(one)) is not None]
        except BaseException:
            for first in _places(reversed(records)):
                with suppress(KafkaException):  # by now another member's
                    self._consumer.seek(first)
            raise
        try:
            if places := _places(records, behind=1):
                self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as problem:
            _log.warning("offsets were not committed, so events come again: %s", problem)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()


def _is_record(message: confluent_kafka.Message) -> bool:
    if (problem := message.error()) is not None:
        _log.warning("Kafka: %s", problem)
    return problem is None


def _event_in(record: confluent_kafka.Message) -> CanonicalEvent | None:
    try:
        return canonical_event_from(record.value() or b"")
    except msgspec.DecodeError as problem:
        place = f"{record.topic()}/{record.partition()} at {record.offset()}"
        _log.error("%s is no event: %s", place, problem)
        return None


def _places(records: Iterable[confluent_kafka.Message], *, behind: int = 0) -> list[TopicPartition]:
    """Of each partition the place of the last of its records, or so many behind that."""
    last = {(str(one.topic()), one.partition() or 0): one.offset() or 0 for one in records}
    return [TopicPartition(topic, one, at + behind) for (topic, one), at in last.items()]
