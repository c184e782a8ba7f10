"""Following one topic as records are written."""

import time
from collections.abc import Generator
from contextlib import closing
from typing import Final

from clients.kafka.reader import KafkaReader, Record
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity

_POLL_INTERVAL_S: Final = 0.2
_RECORDS_AT_ONCE: Final = 500


class NoSuchTopicError(FleetlaneError):
    """There is no topic of this name now."""

    reason = "no_such_topic"
    topic: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"there is no topic {self.topic!r}; there are: {', '.join(self.topics)}"


def tail(
    bootstrap_servers: str,
    topic: str,
    *,
    from_beginning: bool,
    silence_s_max: float | None,
    security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
) -> Generator[Record]:
    """Give a topic's records as they are written; ends after ``silence_s_max`` without one.

    Raises:
        NoSuchTopicError: There is no such topic.
        KafkaUnreadableError: Kafka does not answer.
    """
    reader = KafkaReader(
        bootstrap_servers, topics=[topic], is_from_end=not from_beginning, security=security
    )
    with closing(reader):
        topics = topic_names(reader)
        if topic not in topics:
            raise NoSuchTopicError(topic, topics)
        newest_s = time.monotonic()
        while True:
            records = reader.read_available(records_max=_RECORDS_AT_ONCE)
            yield from records
            if records:
                newest_s = time.monotonic()
            elif silence_s_max is not None and time.monotonic() - newest_s >= silence_s_max:
                return
            else:
                time.sleep(_POLL_INTERVAL_S)


def topic_names(reader: KafkaReader) -> tuple[str, ...]:
    """All topics, sorted, except for Kafka's own; raises ``KafkaUnreadableError``."""
    names = dict.fromkeys(name for name, _ in reader.all_partitions())
    return tuple(name for name in names if not name.startswith("__"))
