"""What Kafka holds twice of one message: at least once is what the jobs promise."""

from collections import Counter
from contextlib import closing
from typing import Final

from clients.kafka.reader import KafkaReader
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import Record
from fleetlane.events.metadata import parsed_from
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED

_OUTPUTS: Final = r"canonical\..*|unique\..*|fleet\.parsed|fleet\.received"


def repeats(bootstrap_servers: str, *, since_ms: int) -> Counter[str]:
    """By topic, how many records say again what one of the same topic says."""
    seen, again = set[object](), Counter[str]()
    reader = KafkaReader(bootstrap_servers, pattern=_OUTPUTS, since_ms=since_ms)
    with closing(reader):
        for record in reader.read_once():
            said = record.topic, _said(record)
            again[record.topic] += said in seen
            seen.add(said)
    return +again


def _said(record: Record) -> object:
    value = record.value or b""
    match record.topic:
        case topic if topic == FLEET_PARSED:
            row = parsed_from(value)
            return row.id, row.source_topic, row.source_partition, row.source_offset
        case topic if topic == FLEET_RECEIVED:
            return value
        case _:
            event = canonical_event_from(value)
            return event.rawid, event.id, event.revision
