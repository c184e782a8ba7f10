"""An application in operation: new topics, offsets that Kafka's tools see, and an orderly end."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.job_arguments import FleetMetadataArguments, KafkaSecurity
from fleetlane.events.lanes import Lane
from fleetlane.events.names import random_raw_id
from fleetlane.events.times import HOUR_MS
from fleetlane.events.topics import raw_key
from glue_jobs import host
from glue_jobs.engine.checkpoint_notes import HadoopFiles, PlanChangedError, note_plan
from glue_jobs.kafka.admin import KafkaAdmin
from glue_jobs.kafka.mirrored_offsets import MirroredOffsets
from glue_jobs.kafka.source_and_sink import QueryPlan, noted, written_to_kafka
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from operations.lanes.status import KafkaPositions, status_of
from tests.lineage import Event, check_run_event, events_in, written_lineage
from tests.spark.test_jobs import found

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

ARRIVAL_MILLIS = 1_762_178_709_123
WAIT_S = 240.0
FLOWS_BUCKET = "operation-flows"
APPLICATION = "operated"
GROUP = "fleetlane-parse-fast"
FLOW = """
stream = "pump"
owner = "acme"
lane = "fast"
topic = "stream"
[[parsers]]
use = "json"
"""
NEW_TOPIC = "raw.fast.stream.pump"


@dataclass(frozen=True)
class QuietQuery:
    """A query that has done no batch since it was started, and will do none."""

    name: str
    isActive: bool = False  # noqa: N815 - Spark's name
    lastProgress: None = None  # noqa: N815 - likewise


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints"


@pytest.fixture
def lineage(tmp_path: Path) -> Iterator[Path]:
    """The file that OpenLineage's own settings name."""
    with written_lineage(tmp_path / "lineage.json"):
        yield tmp_path / "lineage.json"


@pytest.fixture
def application(
    spark: SparkSession,
    kafka_broker: KafkaBroker,
    local_aws: LocalAws,
    checkpoints: Path,
    lineage: Path,
) -> Iterator[threading.Thread]:
    """The fast lane by itself, by the entry that Glue and EMR use; made without its new topic."""
    assert spark.version, "main finds this session"
    assert not lineage.exists()
    flows = [flow_from_toml(FLOW, file="test.toml")]
    local_aws.ensure_bucket(FLOWS_BUCKET)
    local_aws.ensure_bucket("operation-parked")
    store = FlowStore(boto3.client("s3", **local_aws.client_settings), FLOWS_BUCKET)
    store.make_current(store.publish(flows))
    topics = KafkaTopics(
        bootstrap_servers=kafka_broker.bootstrap_servers, partitions=2, replication=1
    )
    topics.create_missing(topic for topic in topics_of(flows) if topic != NEW_TOPIC)
    argv = [
        *("--application", APPLICATION),
        *("--jobs", "parse_lane --lane fast"),
        *("--kafka_bootstrap_servers", kafka_broker.bootstrap_servers),
        *("--kafka_security", KafkaSecurity.PLAINTEXT),
        *("--checkpoint_folder", checkpoints.as_uri()),
        *("--flows_bucket", FLOWS_BUCKET),
        *("--payload_bucket", "operation-payloads"),
        *("--parked_bucket", "operation-parked"),
    ]
    thread = threading.Thread(target=host.main, args=(argv,), daemon=True)
    thread.start()
    yield thread
    (checkpoints / "stop").mkdir(exist_ok=True)
    (checkpoints / "stop" / APPLICATION).touch()
    for query in spark.streams.active:
        query.stop()
    thread.join(WAIT_S)


def landed(producer: KafkaProducer, topic: str) -> bytes:
    message = Message(
        raw_id=random_raw_id(),
        device_id="d-17",
        stream="pump",
        arrival_millis=ARRIVAL_MILLIS,
        lane=Lane.FAST,
        body=b"{}",
        body_bytes=2,
    )
    key, headers = raw_key(ARRIVAL_MILLIS), headers_of(message)
    producer.land(ProducerRecord(topic=topic, key=key, value=b"{}", headers=headers))
    return message.raw_id.encode()


def soon(is_so: Callable[[], object]) -> bool:
    until_s = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.2)
    return True


def committed(admin: AdminClient, group: str) -> dict[str, int]:
    """What Kafka's own tools say of a group: records read, by topic."""
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result().topic_partitions or []
    read: dict[str, int] = {}
    for one in found:
        read[one.topic] = read.get(one.topic, 0) + one.offset
    return read


def test_an_application_reads_new_topics_tells_kafka_and_ends_between_batches(
    application: threading.Thread,
    spark: SparkSession,
    kafka_broker: KafkaBroker,
    checkpoints: Path,
    lineage: Path,
) -> None:
    servers = kafka_broker.bootstrap_servers
    producer, admin = (
        KafkaProducer(bootstrap_servers=servers),
        AdminClient({"bootstrap.servers": servers}),
    )
    shared = landed(producer, "raw.fast")
    events = found(
        kafka_broker, "canonical.pump", lambda one: shared in (one.value or b""), wait_s=WAIT_S
    )

    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing([NEW_TOPIC])
    early = {landed(producer, NEW_TOPIC) for _ in range(20)}
    of_new = found(
        kafka_broker,
        "canonical.pump",
        lambda one: any(raw_id in (one.value or b"") for raw_id in early),
        count=20,
        wait_s=WAIT_S,
    )
    is_told = soon(lambda: committed(admin, GROUP).get(NEW_TOPIC) == 20)
    positions = KafkaPositions(servers, KafkaSecurity.PLAINTEXT)
    queries = status_of(positions, now_ms=time.time_ns() // 1_000_000).queries
    positions.close()
    (checkpoints / "stop").mkdir()
    (checkpoints / "stop" / APPLICATION).touch()
    application.join(WAIT_S)
    run_on = [query.name for query in spark.streams.active]

    assert (len(events), len(of_new), is_told) == (1, 20, True)
    assert [one.waiting for one in queries if one.query == "parse-fast" and one.seen_ms] == [0]
    assert (application.is_alive(), run_on) == (False, [])
    assert not (checkpoints / "stop" / APPLICATION).exists()
    sent = of_runs_begun(events_in(lineage), "query.parse-fast")
    assert [one["eventType"] for one in sent] == ["START", "COMPLETE"]
    started, ended = sent
    assert started["run"]["runId"] == ended["run"]["runId"]
    for event in (started, ended):
        check_run_event(event)
        assert {one["namespace"] for one in event["inputs"]} == {f"kafka://{servers}"}
        assert names_of(event["inputs"]) >= {"raw.fast"}
        assert names_of(event["outputs"]) >= {"canonical.pump", "fleet.parsed", "parked"}
    assert names_of(ended["inputs"]) - names_of(started["inputs"]) == {NEW_TOPIC}


def of_runs_begun(events: Iterable[Event], job: str) -> list[Event]:
    """Without the ends of queries of the tests before, and without what else begins meanwhile."""
    sent = [one for one in events if one["job"]["name"] == job]
    run_ids = {one["run"]["runId"] for one in sent if one["eventType"] == "START"}
    return [one for one in sent if one["run"]["runId"] in run_ids]


def names_of(datasets: Iterable[Event]) -> set[str]:
    return {one["name"] for one in datasets}


def kafka_admin(spark: SparkSession, kafka_broker: KafkaBroker) -> KafkaAdmin:
    arguments = FleetMetadataArguments(
        kafka_bootstrap_servers=kafka_broker.bootstrap_servers,
        checkpoint_folder="unused",
        kafka_security=KafkaSecurity.PLAINTEXT,
    )
    return KafkaAdmin(spark, arguments)


def test_kafka_s_administration_names_the_topics_there_are(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    servers, topic = kafka_broker.bootstrap_servers, "administered"
    topics = KafkaTopics(bootstrap_servers=servers, partitions=1, replication=1)

    with closing(kafka_admin(spark, kafka_broker)) as kafka:
        is_there_before = topic in kafka.topics()
        topics.create_missing([topic])
        is_there = soon(lambda: topic in kafka.topics())

    assert (is_there_before, is_there) == (False, True)


def hours_until_expiry(kafka: KafkaAdmin, query: QuietQuery, *, hours_later: int) -> int:
    now_ms = time.time_ns() // 1_000_000 + hours_later * HOUR_MS
    offsets = MirroredOffsets(kafka, query_names=[query.name], now_ms=lambda: now_ms)
    offsets.mirror([query])
    return offsets.hours_left()


def test_records_that_expired_before_they_were_read_are_counted(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    servers, topic = kafka_broker.bootstrap_servers, "raw.fast.stream.expiring"
    KafkaTopics(bootstrap_servers=servers, partitions=1, replication=1).create_missing([topic])
    producer = KafkaProducer(bootstrap_servers=servers)
    for _ in range(10):
        landed(producer, topic)
    kafka = kafka_admin(spark, kafka_broker)
    kafka.commit("fleetlane-parse-fast-expiring", {(topic, 0): 4}, note="0")
    query = QuietQuery("parse_lane_fast_expiring")
    mirrored = MirroredOffsets(kafka, query_names=["parse_lane_fast_expiring"], now_ms=lambda: 0)
    before = mirrored.mirror([query])
    hours_left = [hours_until_expiry(kafka, query, hours_later=hours) for hours in (0, 70, 73)]

    admin = AdminClient({"bootstrap.servers": servers})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 7)]).values():
        deleted.result()
    after, without_query = mirrored.mirror([query]), mirrored.mirror([])
    for deleted in admin.delete_topics([topic]).values():
        deleted.result()
    is_forgotten = soon(lambda: mirrored.mirror([]) == 0)
    kafka.close()

    assert (before, after, without_query, is_forgotten) == (0, 3, 3, True)
    assert hours_left == [71, 1, 0]


def test_a_lane_s_checkpoint_refuses_what_it_cannot_take(
    spark: SparkSession, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    arguments = FleetMetadataArguments(
        kafka_bootstrap_servers=kafka_broker.bootstrap_servers,
        checkpoint_folder=tmp_path.as_uri(),
        kafka_security=KafkaSecurity.PLAINTEXT,
    )
    records = spark.readStream.format("rate").load()
    fast = QueryPlan(name="refused", pattern="raw.fast", trigger_ms=0)
    note_plan(HadoopFiles(spark, tmp_path.as_uri()), fast.name, noted(spark, arguments, fast))
    other = QueryPlan(name="refused", pattern="raw.fast", trigger_ms=0, state="ids of pump")

    with pytest.raises(PlanChangedError, match="checkpoint refused cannot be taken up"):
        written_to_kafka(records, arguments, plan=other)

    assert (tmp_path / "refused" / "plan.json").is_file()
