"""Bytewax: a Kafka source, a flat map, a Kafka sink.

Run by ``python -m bytewax.run "benchmarks.parse.peers.bytewax_flow:dataflow('SERVERS', LOOPS)"``.
"""

from typing import Final

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow

from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.settings import PRODUCER
from benchmarks.parse.workload import RAW_TOPIC
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.metadata import METADATA_CONTENT_TYPE
from fleetlane.events.topics import FLEET_PARSED

_BATCH_RECORDS: Final = 1_000
_METADATA_HEADERS: Final = [("content-type", METADATA_CONTENT_TYPE.encode())]
_CANONICAL_HEADERS: Final = [("content-type", CANONICAL_CONTENT_TYPE.encode())]


def dataflow(bootstrap_servers: str, loops: int) -> Dataflow:
    work = PlainWork(loops=loops)

    def records_of(raw: KafkaSourceMessage) -> list[KafkaSinkMessage]:
        position = Position(RAW_TOPIC, raw.partition or 0, raw.offset or 0)
        return [
            KafkaSinkMessage(
                record.key,
                record.value,
                topic=record.topic,
                headers=_METADATA_HEADERS if record.topic == FLEET_PARSED else _CANONICAL_HEADERS,
            )
            for record in work.records_of(raw.headers, raw.value, position)
        ]

    flow = Dataflow("parse")
    source = KafkaSource([bootstrap_servers], [RAW_TOPIC], batch_size=_BATCH_RECORDS)
    records = op.flat_map("parse", op.input("raw", flow, source), records_of)
    settings = {name: str(value).lower() for name, value in PRODUCER.items()}
    op.output("records", records, KafkaSink([bootstrap_servers], None, add_config=settings))
    return flow
