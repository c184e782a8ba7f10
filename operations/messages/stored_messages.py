"""The messages of one stream that are in Kafka now, raw or parked."""

import heapq
from collections.abc import Sequence
from contextlib import closing

from clients.kafka.reader import KafkaReader, Record
from fleetlane.events import headers as ce
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import PARKED, raw_pattern


def latest_records(
    bootstrap_servers: str,
    where: str,
    stream: str,
    *,
    records_max: int,
    security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
) -> Sequence[Record]:
    """The latest records of a stream, ``parked`` or ``raw``, by when they were written.

    Raises:
        KafkaUnreadableError: Kafka does not answer.
    """
    if where == "parked":
        reader = KafkaReader(bootstrap_servers, topics=[PARKED], security=security)
    else:
        reader = KafkaReader(bootstrap_servers, pattern=raw_pattern(*Lane), security=security)
    with closing(reader):
        of_stream = (record for record in reader.read_once() if _stream_of(record) == stream)
        latest = heapq.nlargest(records_max, of_stream, key=_order)
    return latest[::-1]


def _order(record: Record) -> tuple[int, int, int]:
    return record.timestamp_ms, record.partition, record.offset


def _stream_of(record: Record) -> str | None:
    found = next((value for name, value in record.headers if name == ce.TYPE), None)
    return None if found is None else found.decode(errors="replace")
