"""A flow that blocks on failure stands still alone, until somebody answers."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from pyspark.sql import SparkSession

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.topics import KafkaTopics
from clients.s3.blocked_messages import BlockedMessage, BlockedMessages
from fleetlane.events.envelope import Message, Record, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_from
from fleetlane.events.names import random_raw_id
from fleetlane.events.topics import raw_key
from glue_jobs import host
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from tests.spark.test_jobs import found

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

ARRIVAL_MILLIS = 1_762_178_709_123
WAIT_S = 180.0
TOPIC = "raw.fast.block.door"
DOOR = """
stream = "door"
owner = "acme"
topic = "stream"
on_failure = "block"
[[parsers]]
use = "json"
"""
LAMP = """
stream = "lamp"
owner = "acme"
[[parsers]]
use = "json"
"""

type Send = Callable[[str, bytes], bytes]


@pytest.fixture
def blocked(local_aws: LocalAws) -> BlockedMessages:
    local_aws.ensure_bucket("blocking-parked")
    return BlockedMessages(boto3.client("s3", **local_aws.client_settings), "blocking-parked")


class LaneJob:
    """The fast lane with flows in force; started again it goes on where it was."""

    def __init__(
        self, spark: SparkSession, broker: KafkaBroker, store: FlowStore, folder: Path
    ) -> None:
        self._spark, self._store = spark, store
        self._topics = KafkaTopics(
            bootstrap_servers=broker.bootstrap_servers, partitions=2, replication=1
        )
        self._argv = [
            *("--kafka_bootstrap_servers", broker.bootstrap_servers),
            *("--kafka_security", "plaintext"),
            *("--checkpoint_folder", folder.as_uri()),
            *("--flows_bucket", "blocking-flows"),
            *("--payload_bucket", "blocking-payloads"),
            *("--parked_bucket", "blocking-parked"),
        ]

    def publish(self, *tomls: str) -> None:
        flows = [flow_from_toml(toml, file="test.toml") for toml in tomls]
        self._topics.create_missing(topics_of(flows))
        self._store.make_current(self._store.publish(flows))

    def start(self) -> None:
        job = "parse_lane --lane fast --trigger_ms 100"
        (self.query,) = host.start(self._spark, job, self._argv)

    def stop(self) -> None:
        """Stop the lane's query; those of its blocking flows end with it, a little later."""
        self.query.stop()
        until(lambda: not self._spark.streams.active)


@pytest.fixture
def job(
    spark: SparkSession, kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path
) -> Iterator[LaneJob]:
    local_aws.ensure_bucket("blocking-parked")
    local_aws.ensure_bucket("blocking-flows")
    store = FlowStore(boto3.client("s3", **local_aws.client_settings), "blocking-flows")
    job = LaneJob(spark, kafka_broker, store, tmp_path)
    job.publish(DOOR, LAMP)
    job.start()
    yield job
    job.query.stop()


@pytest.fixture
def send(kafka_broker: KafkaBroker) -> Send:
    """Land a message, all in the same partition of its topic, and give its raw id."""
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)

    def send(stream: str, body: bytes) -> bytes:
        message = Message(
            raw_id=random_raw_id(),
            device_id="d-17",
            stream=stream,
            arrival_millis=ARRIVAL_MILLIS,
            lane=Lane.FAST,
            body=body,
            body_bytes=len(body),
        )
        topic = TOPIC if stream == "door" else "raw.fast"
        key, headers = raw_key(ARRIVAL_MILLIS), headers_of(message)
        producer.land(ProducerRecord(topic=topic, key=key, value=body, headers=headers))
        return message.raw_id.encode()

    return send


def until(is_so: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not is_so() and time.monotonic() < deadline_s:
        time.sleep(0.1)


def waiting(blocked: BlockedMessages) -> BlockedMessage:
    """Wait until a message waits for an answer."""
    until(lambda: blocked.waiting(TOPIC))
    return blocked.waiting(TOPIC)[0]


def parsed_of(record: Record) -> Parsed:
    return parsed_from(record.value or b"")


def events_of(broker: KafkaBroker, stream: str, raw_id: bytes) -> bool:
    """Whether a message's event comes out in time."""
    topic = f"canonical.{stream}"
    return bool(found(broker, topic, lambda one: raw_id in (one.value or b"")))


def test_a_message_that_fails_holds_up_its_own_flow_alone_until_it_is_skipped(
    job: LaneJob, send: Send, blocked: BlockedMessages, kafka_broker: KafkaBroker
) -> None:
    before, bad, behind = (send("door", body) for body in (b'{"n": 1}', b"{nope", b'{"n": 2}'))
    first = waiting(blocked)
    other = send("lamp", b"{}")
    comes_before = events_of(kafka_broker, "door", before)
    others_go_on = events_of(kafka_broker, "lamp", other)
    rows = found(kafka_broker, "canonical.door", lambda one: behind in (one.value or b""), wait_s=3)

    blocked.retry(first)
    again = waiting(blocked)
    blocked.skip(again)

    assert (comes_before, others_go_on, rows) == (True, True, [])
    assert (first.offset, again.offset, again.is_skipped) == (1, 1, False)
    assert events_of(kafka_broker, "door", behind)
    (parked,) = found(kafka_broker, "parked", lambda one: dict(one.headers).get("ce_id") == bad)
    assert (parked.value, dict(parked.headers)["ce_parkedreason"]) == (b"{nope", b"malformed")
    assert job.query.isActive


@pytest.mark.faults
@pytest.mark.full_length
def test_what_a_flow_left_unread_comes_out_if_it_is_withdrawn_while_the_job_is_down(
    job: LaneJob, send: Send, blocked: BlockedMessages, kafka_broker: KafkaBroker
) -> None:
    unread = {send("door", body) for body in (b"{nope", b'{"n": 3}')}
    waiting(blocked)
    job.stop()

    job.publish(LAMP)
    job.start()

    told = found(
        kafka_broker,
        "fleet.parsed",
        lambda one: parsed_of(one).id.encode() in unread,
        count=len(unread),
        wait_s=WAIT_S,
    )
    outcomes = {row.id.encode(): row.outcome for row in map(parsed_of, told)}
    assert set(outcomes) == unread  # parked as no_flow, or as the flow said a moment ago
    assert set(outcomes.values()) <= {Outcome.PARKED, Outcome.PARSED}
    assert blocked.waiting(TOPIC) == []
