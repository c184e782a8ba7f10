"""The messages of one stream that are in Kafka now, raw or parked."""

from collections.abc import Sequence

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
    try:
        return _latest(reader, stream, records_max)
    finally:
        reader.close()


def _latest(reader: KafkaReader, stream: str, records_max: int) -> Sequence[Record]:
    latest: list[Record] = []
    while records := reader.read_available():
        latest += [record for record in records if _stream_of(record) == stream]
        latest = sorted(latest, key=lambda record: record.timestamp_ms)[-records_max:]
    return latest


def _stream_of(record: Record) -> str | None:
    found = next((value for name, value in record.headers if name == ce.TYPE), None)
    return None if found is None else found.decode(errors="replace")
