"""The jobs as they are started everywhere: by host, with argv, from Kafka to Kafka."""

import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from pyspark.sql import SparkSession

from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Message, Record, headers_of
from fleetlane.events.flows.artifacts import team_rules
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.job_arguments import BadArgumentsError
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.metadata import parsed_from, received_from
from fleetlane.events.names import random_raw_id
from fleetlane.events.topics import raw_key, raw_topic
from glue_jobs import host
from glue_jobs.engine.supervisor import Supervisor
from local.flow_activation import example_artifact
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from tests.team_artifacts import team_artifact

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

FLOWS_BUCKET = "test-flows"
FLOW = """
stream = "gps"
owner = "acme"
[[parsers]]
use = "json"
"""
VIBRATION_FLOW = """
stream = "vibration"
owner = "acme"
[[parsers]]
use = "acme-vibration==1.2.0"
"""
TANK_FLOW = """
stream = "tank-{version}"
owner = "acme"
[[parsers]]
use = "tank=={version}.0"
"""
ENDLESS_TRACE = struct.pack("<4sIIH2h", b"VIB1", 1_762_178_709, 4_000_000_000, 2, 1, -1)
TOMLS = (FLOW, VIBRATION_FLOW, *(TANK_FLOW.format(version=version) for version in (1, 2)))
ARRIVAL_MILLIS = 1_762_178_709_123
WAIT_S = 60.0


@pytest.fixture(scope="module")
def jobs(
    spark: SparkSession,
    kafka_broker: KafkaBroker,
    local_aws: LocalAws,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[Supervisor]]:
    """The standard lane, the bulk lane and the metadata, as one application of AWS runs them."""
    flows = [flow_from_toml(toml, file="test.toml") for toml in TOMLS]
    local_aws.ensure_bucket(FLOWS_BUCKET)
    s3 = boto3.client("s3", **local_aws.client_settings)
    store, parsers = FlowStore(s3, FLOWS_BUCKET), ParserStore(s3, FLOWS_BUCKET)
    folder = tmp_path_factory.mktemp("artifacts")
    for artifact in (
        example_artifact(folder),
        team_artifact(folder, "tank==1.0"),
        team_artifact(folder, "tank==2.0"),
    ):
        parsers.deploy(artifact, owner="acme")
    found = [parsers.offering(owner, use) for owner, use in team_rules(flows)]
    store.make_current(store.publish(flows, filter(None, found)))
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing(topics_of(flows))
    argv = [
        *("--kafka_bootstrap_servers", servers),
        *("--kafka_security", "plaintext"),
        *("--checkpoint_folder", tmp_path_factory.mktemp("checkpoints").as_uri()),
        *("--flows_bucket", FLOWS_BUCKET),
        *("--payload_bucket", "test-payloads"),
        *("--parked_bucket", "test-parked"),
        *("--metadata_trigger_ms", "100"),
    ]
    lanes = (f"parse_lane --lane {lane} --trigger_ms 100" for lane in ("standard", "bulk"))
    queries = host.start(spark, "; ".join((*lanes, "fleet_metadata")), argv)
    yield queries
    for query in queries:
        query.stop()


@pytest.fixture
def sent(jobs: list[Supervisor], kafka_broker: KafkaBroker) -> Callable[..., Message]:
    assert all(query.isActive for query in jobs)
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)

    def send(body: bytes, stream: str = "gps", cause: BulkCause | None = None) -> Message:
        message = Message(
            raw_id=random_raw_id(),
            device_id="d-17",
            stream=stream,
            arrival_millis=ARRIVAL_MILLIS,
            lane=Lane.STANDARD if cause is None else Lane.BULK,
            bulk_cause=cause,
            body=body,
            body_bytes=len(body),
            other_headers=(("traceparent", b"00-01"), ("x", None)),
        )
        producer.land(
            ProducerRecord(
                topic=raw_topic(message.lane, stream=stream, cause=cause),
                key=raw_key(ARRIVAL_MILLIS),
                value=body,
                headers=headers_of(message),
            )
        )
        return message

    return send


def found(
    broker: KafkaBroker,
    topic: str,
    is_wanted: Callable[[Record], bool],
    *,
    count: int = 1,
    wait_s: float = WAIT_S,
) -> list[Record]:
    """Wait until ``count`` records of a topic are the wanted ones."""
    reader, records = KafkaReader(broker.bootstrap_servers, topics=[topic]), list[Record]()
    deadline = time.monotonic() + wait_s
    while len(records) < count and time.monotonic() < deadline:
        records.extend(record for record in reader.read_available() if is_wanted(record))
    reader.close()
    return records


def test_a_message_comes_out_as_canonical_events(
    sent: Callable[[bytes], Message], kafka_broker: KafkaBroker
) -> None:
    raw_id = sent(b'[{"a": 1}, {"a": 2}]').raw_id.encode()

    records = found(
        kafka_broker, "canonical.gps", lambda one: raw_id in (one.value or b""), count=2
    )

    assert len(records) == 2
    assert records[0].headers == (("content-type", b"application/cloudevents+json"),)


def test_a_malformed_message_is_parked_with_the_bytes_and_headers_that_came(
    sent: Callable[[bytes], Message], kafka_broker: KafkaBroker
) -> None:
    message = sent(b"\x00{nope\xff")
    headers = tuple(headers_of(message))

    (parked,) = found(kafka_broker, "parked", lambda one: one.headers[: len(headers)] == headers)

    assert parked.value == b"\x00{nope\xff"
    assert dict(parked.headers)["ce_parkedreason"] == b"malformed"


def test_every_message_is_reported_to_the_fleet_once_received_and_once_parsed(
    sent: Callable[[bytes], Message], kafka_broker: KafkaBroker
) -> None:
    raw_id = sent(b"{}").raw_id

    (received,) = found(
        kafka_broker, "fleet.received", lambda one: received_from(one.value or b"").id == raw_id
    )
    (parsed,) = found(
        kafka_broker, "fleet.parsed", lambda one: parsed_from(one.value or b"").id == raw_id
    )

    assert received.headers == parsed.headers == (("content-type", b"application/json"),)


def test_a_message_that_hangs_its_parser_is_diverted_and_its_neighbours_come_out(
    sent: Callable[..., Message], kafka_broker: KafkaBroker
) -> None:
    endless = sent(ENDLESS_TRACE, "vibration").raw_id.encode()
    good = {sent(b'{"a": 1}').raw_id.encode() for _ in range(20)}

    (moved,) = found(
        kafka_broker, "raw.slow", lambda one: dict(one.headers).get("ce_id") == endless
    )
    records = found(
        kafka_broker,
        "canonical.gps",
        lambda one: any(raw_id in (one.value or b"") for raw_id in good),
        count=20,
    )

    assert (moved.value, dict(moved.headers)["ce_attempt"]) == (ENDLESS_TRACE, b"2")
    assert len(records) == 20


def test_in_the_bulk_lane_a_flow_that_hangs_is_put_over_once_and_others_come_out(
    sent: Callable[..., Message], kafka_broker: KafkaBroker
) -> None:
    endless = {sent(ENDLESS_TRACE, "vibration", BulkCause.LATE).raw_id.encode() for _ in range(12)}
    good = sent(b'{"a": 1}', "gps", BulkCause.LATE).raw_id.encode()

    came_out = found(kafka_broker, "canonical.gps", lambda one: good in (one.value or b""))
    failed = found(
        kafka_broker,
        "raw.slow",
        lambda one: dict(one.headers).get("ce_id") in endless,
        count=len(endless),
    )
    over = found(
        kafka_broker,
        "raw.bulk.over.late",
        lambda one: dict(one.headers).get("ce_id") in endless,
        count=len(endless),
        wait_s=2.0,
    )

    assert len(came_out) == 1
    assert {dict(one.headers)["ce_id"] for one in failed} == endless
    assert 0 < len(over) == len({dict(one.headers)["ce_id"] for one in over})


def test_two_versions_of_one_parser_are_fetched_and_run_side_by_side(
    sent: Callable[..., Message], kafka_broker: KafkaBroker
) -> None:
    sent(b"old", "tank-1")
    sent(b"new", "tank-2")

    [old] = found(kafka_broker, "canonical.tank-1", lambda one: b'"old"' in (one.value or b""))
    [new] = found(kafka_broker, "canonical.tank-2", lambda one: b'"new"' in (one.value or b""))

    assert b'"version":"1.0"' in (old.value or b"")
    assert b'"version":"2.0"' in (new.value or b"")


def test_an_unknown_job_is_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(BadArgumentsError, match="'parse_line'"):
        host.start(spark, "parse_line --lane fast", [])


def test_a_job_without_an_argument_says_which(spark: SparkSession, tmp_path: Path) -> None:
    argv = ["--kafka_bootstrap_servers", "x", "--checkpoint_folder", tmp_path.as_uri()]

    with pytest.raises(BadArgumentsError, match="flows_bucket"):
        host.start(spark, "parse_lane --lane fast", argv)
