"""Quix Streams, as its guide would have it: one application, one step that makes the records.

Run as ``python -m benchmarks.parse.peers.quix_streams BOOTSTRAP_SERVERS LOOPS GROUP``; several
processes share the partitions.
"""

import sys
from collections.abc import Sequence
from typing import Final

from quixstreams import Application, message_context
from quixstreams.models.serializers import BytesSerializer, SerializationContext

from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.settings import PRODUCER
from benchmarks.parse.workload import RAW_TOPIC, STREAM
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.envelope import Header
from fleetlane.events.metadata import METADATA_CONTENT_TYPE
from fleetlane.events.topics import FLEET_PARSED, canonical_topic
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecord

_METADATA_HEADERS: Final = [("content-type", METADATA_CONTENT_TYPE.encode())]
_CANONICAL_HEADERS: Final = [("content-type", CANONICAL_CONTENT_TYPE.encode())]


class _ValueOf(BytesSerializer):  # type: ignore[misc] # Quix is not in this environment
    def __call__(self, value: CanonicalRecord, ctx: SerializationContext) -> bytes:
        return value.value


def main(bootstrap_servers: str, loops: int, group: str) -> None:
    work = PlainWork(loops=loops)

    def records_of(
        body: bytes, _key: bytes, _timestamp: int, headers: Sequence[Header]
    ) -> list[CanonicalRecord]:
        context = message_context()
        position = Position(RAW_TOPIC, context.partition, context.offset)
        return work.records_of(headers, body, position)

    application = Application(
        broker_address=bootstrap_servers,
        consumer_group=group,
        auto_offset_reset="earliest",
        auto_create_topics=False,
        loglevel="ERROR",
        producer_extra_config=PRODUCER,
    )
    raw = application.topic(RAW_TOPIC, value_deserializer="bytes", key_deserializer="bytes")
    outputs = {
        name: application.topic(name, value_serializer=_ValueOf(), key_serializer="bytes")
        for name in (canonical_topic(STREAM), FLEET_PARSED)
    }
    records = application.dataframe(raw).apply(records_of, expand=True, metadata=True)
    records = records.set_headers(
        lambda record, *_: _METADATA_HEADERS if record.topic == FLEET_PARSED else _CANONICAL_HEADERS
    )
    records.to_topic(lambda record, *_: outputs[record.topic], key=lambda record: record.key)
    application.run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
