"""How often a message was deferred because its flow was over its budget."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from confluent_kafka import Consumer, Message, TopicPartition

from benchmarks.running.services import Services
from fleetlane.events import headers as ce

_RECORDS_AT_ONCE: Final = 10_000
_WAIT_S: Final = 10.0


def deferrals_a_message_max(services: Services, topics: Iterable[str]) -> int:
    """The most records that any message has in the topics of what is over its flow's budget."""
    seen = Counter[bytes]()
    settings = {"bootstrap.servers": services.bootstrap_servers, "group.id": "deferrals"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "log_level": 0})
    for topic in topics:
        begins, ends = services.begin_offsets(topic), services.end_offsets(topic)
        left = sum(ends) - sum(begins)
        consumer.assign([TopicPartition(topic, number, at) for number, at in enumerate(begins)])
        while left > 0:
            records = consumer.consume(min(left, _RECORDS_AT_ONCE), _WAIT_S)
            if not records:
                raise TimeoutError(f"{left} records of {topic} did not come within {_WAIT_S:g} s")
            left -= len(records)
            seen.update(raw_id for record in records for raw_id in _raw_ids(record))
    consumer.close()
    return max(seen.values(), default=0)


def _raw_ids(record: Message) -> Iterator[bytes]:
    headers: Any = record.headers() or ()
    yield from (value for name, value in headers if name == ce.ID)
