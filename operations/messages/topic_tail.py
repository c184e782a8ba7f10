"""Following one topic as records are written."""

import time
from collections.abc import Generator
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Record
from clients.kafka.security import security_configuration
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity

_REQUEST_TIMEOUT_S: Final = 5.0
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
    topics = topic_names(bootstrap_servers, security)
    if topic not in topics:
        raise NoSuchTopicError(topic, topics)
    reader = KafkaReader(
        bootstrap_servers, topics=[topic], is_from_end=not from_beginning, security=security
    )
    try:
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
    finally:
        reader.close()


def topic_names(
    bootstrap_servers: str, security: KafkaSecurity = KafkaSecurity.PLAINTEXT
) -> tuple[str, ...]:
    """All topics, sorted, save Kafka's own.

    Raises:
        KafkaUnreadableError: Kafka does not answer.
    """
    admin = AdminClient(
        {
            "bootstrap.servers": bootstrap_servers,
            "log_level": 0,
            **security_configuration(security),
        }
    )
    try:
        found = admin.list_topics(timeout=_REQUEST_TIMEOUT_S).topics
    except KafkaException as problem:
        raise KafkaUnreadableError(str(problem)) from None
    return tuple(sorted(name for name in found if not name.startswith("__")))
