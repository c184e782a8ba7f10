"""The limit: confluent-kafka in a loop over its share of the partitions, until it is ended.

Run as ``python -m benchmarks.parse.bare_loop BOOTSTRAP_SERVERS LOOPS PARTITION...``.
"""

import sys
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.settings import PRODUCER
from benchmarks.parse.workload import RAW_TOPIC
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.metadata import METADATA_CONTENT_TYPE
from fleetlane.events.topics import FLEET_PARSED

_METADATA_HEADERS: Final[Any] = [("content-type", METADATA_CONTENT_TYPE.encode())]
_CANONICAL_HEADERS: Final[Any] = [("content-type", CANONICAL_CONTENT_TYPE.encode())]


def main(bootstrap_servers: str, loops: int, partitions: list[int]) -> None:
    servers = {"bootstrap.servers": bootstrap_servers}
    consumer = Consumer({**servers, "group.id": "bare", "enable.auto.commit": False})
    consumer.assign([TopicPartition(RAW_TOPIC, partition, 0) for partition in partitions])
    producer, work = Producer({**servers, **PRODUCER}), PlainWork(loops=loops)
    while True:
        for record in consumer.consume(1_000, 0.2):
            position = Position(RAW_TOPIC, record.partition() or 0, record.offset() or 0)
            headers: Any = record.headers()  # declared as whatever may be produced
            for topic, key, value in work.records_of(headers, record.value(), position):
                _produce(producer, topic, key, value)
        producer.poll(0)


def _produce(producer: Producer, topic: str, key: bytes, value: bytes) -> None:
    headers = _METADATA_HEADERS if topic == FLEET_PARSED else _CANONICAL_HEADERS
    while True:
        try:
            return producer.produce(topic, value, key, headers=headers)
        except BufferError:
            producer.poll(0.01)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(partition) for partition in sys.argv[3:]])
