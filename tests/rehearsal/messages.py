"""Messages as ingest lands them, and what became of them: the ledger, and the lake."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from random import Random

from pyiceberg.catalog import Catalog, load_catalog

from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.lake.tables import CATALOG
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.names import random_raw_id
from fleetlane.events.times import now_ms
from fleetlane.events.topics import raw_key, raw_topic
from local.simulator import bodies
from operations.ledger.evidence import LEDGER_TOPICS, Evidence
from operations.ledger.lake_settling import wait_for_lake
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger, SettlingLimits, reconcile, wait_until_settled
from tests.rehearsal.deployed_stage import DeployedStage, Ground

EVENTS = 5
_STREAMS = {
    Lane.FAST: ("door", bodies.door),
    Lane.STANDARD: ("weather", bodies.weather),
    Lane.SLOW: ("gps", bodies.gps),
    Lane.BULK: ("thermo", bodies.thermo),
}
"""A stream for each lane. Thermo's parser is an owner's artifact; the others are built in."""


def land(ground: Ground, lane: Lane, *, messages: int) -> list[Receipt]:
    """Land messages in a lane's topic as ingest does, and return the receipts."""
    producer = KafkaProducer(bootstrap_servers=ground.broker.bootstrap_servers)
    random, receipts = Random(7), []  # noqa: S311 - a simulation
    stream, write = _STREAMS[lane]
    cause = BulkCause.LATE if lane is Lane.BULK else None
    for number in range(messages):
        at_ms = now_ms()
        body = write(random, at_ms, EVENTS)
        message = Message(
            raw_id=random_raw_id(),
            device_id=f"{stream}-{number % 3}",
            stream=stream,
            arrival_millis=at_ms,
            lane=lane,
            bulk_cause=cause,
            body=body,
            body_bytes=len(body),
        )
        topic = raw_topic(lane, stream=stream, cause=cause)
        headers = headers_of(message)
        producer.land(ProducerRecord(topic=topic, key=raw_key(at_ms), value=body, headers=headers))
        digest = sha256(body).hexdigest()
        receipts.append(Receipt(raw_id=message.raw_id, sha256=digest, events=EVENTS))
    return receipts


def reckon(
    stage: DeployedStage,
    receipts: Sequence[Receipt],
    *,
    within_s: float,
    wait: Callable[[float], None] = time.sleep,
    has_lake: bool = False,
) -> Ledger:
    """Wait until all is settled, no longer than ``within_s``, and reconcile the ledger.

    With ``has_lake`` everything must be in the lake too. ``wait`` may end it by an error.
    """
    began_s, evidence = time.monotonic(), Evidence()
    limits = SettlingLimits(deadline_s=within_s, quiet_s=within_s, wait=wait)
    servers = stage.ground.broker.bootstrap_servers
    with closing(KafkaReader(servers, pattern=LEDGER_TOPICS)) as reader:
        wait_until_settled(receipts, evidence, reader, limits=limits)
    opened = partial(lake_of, stage)
    lake = wait_for_lake(receipts, evidence, opened, limits=limits) if has_lake else None
    return reconcile(
        receipts,
        evidence,
        payloads=PayloadBucket(stage.ground.s3, stage.bucket("parked")),
        seconds=time.monotonic() - began_s,
        lake=lake,
    )


@contextmanager
def lake_of(stage: DeployedStage) -> Iterator[Catalog]:
    """The Glue Data Catalog, as operators' commands open it."""
    aws = stage.ground.aws.client_settings
    [database] = stage.templates.resources("AWS::Glue::Database")
    settings = {
        "database": database["DatabaseInput"]["Name"],
        "glue.endpoint": stage.ground.twins.url,
        "s3.endpoint": aws["endpoint_url"],
        "client.region": aws["region_name"],
        "client.access-key-id": aws["aws_access_key_id"],
        "client.secret-access-key": aws["aws_secret_access_key"],
    }
    with closing(load_catalog(CATALOG, type="glue", **settings)) as catalog:
        yield catalog
