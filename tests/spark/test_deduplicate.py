"""Job ``deduplicate`` on a real broker: what it lets through, and what a crash repeats."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from pyspark.sql import SparkSession

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import Record
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.job_arguments import DeduplicateArguments, KafkaSecurity
from glue_jobs import host
from glue_jobs.deduplicate.main import started
from glue_jobs.engine.supervisor import Supervisor, stop_between_batches
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from tests.spark.lake_records import Sent

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

WAIT_S = 120.0
FLOWS_BUCKET = "deduplicate-flows"
KEY = b"d-1/2025-11-03T12"
HEADERS = (("content-type", b"application/cloudevents+json"), ("x", None))
FOREIGN = b"no event of ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """One stream's topics, before and after."""

    broker: KafkaBroker
    stream: str

    def put(self, values: Iterable[bytes]) -> None:
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap_servers)
        topic, headers = f"canonical.{self.stream}", list(HEADERS)
        for value in values:
            record = ProducerRecord(topic=topic, key=KEY, value=value, headers=headers)
            producer.land(record)

    def wait_for(self, count: int, looked_after: Supervisor | None = None) -> Sequence[Record]:
        """All records of the topic without repeats, once there are so many."""
        servers, topic = self.broker.bootstrap_servers, f"unique.{self.stream}"
        reader, records = KafkaReader(servers, topics=[topic]), list[Record]()
        until_s = time.monotonic() + WAIT_S
        while len(records) < count and time.monotonic() < until_s:
            if looked_after is not None:
                looked_after.awaitTermination(0)
            records.extend(reader.read_available())
        reader.close()
        return records


def flow_text(stream: str) -> str:
    return (
        f'stream = "{stream}"\nowner = "acme"\n[dedupe]\nwindow_s = 600\n[[parsers]]\nuse = "json"'
    )


def event(number: int, stream: str, revision: int = 0, parser: str = "json@1") -> bytes:
    _, value, _ = Sent(number=number, stream=stream).event(revision=revision, parser=parser)
    assert value is not None
    return value


def ids_in(records: Iterable[Record]) -> Counter[tuple[str, int]]:
    events = [canonical_event_from(record.value or b"") for record in records]
    return Counter((one.id, one.revision) for one in events)


@pytest.fixture
def topics(request: pytest.FixtureRequest, kafka_broker: KafkaBroker) -> Topics:
    stream = request.param
    servers = kafka_broker.bootstrap_servers
    flow = flow_from_toml(flow_text(stream), file="test.toml")
    missing = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    missing.create_missing(topics_of([flow]))
    return Topics(broker=kafka_broker, stream=stream)


@pytest.fixture
def arguments(kafka_broker: KafkaBroker, tmp_path: Path) -> DeduplicateArguments:
    return DeduplicateArguments(
        kafka_bootstrap_servers=kafka_broker.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=tmp_path.as_uri(),
        flows_bucket=FLOWS_BUCKET,
        dedupe_trigger_ms=100,
        dedupe_state_partitions=1,
    )


@pytest.fixture
def job(
    spark: SparkSession, local_aws: LocalAws, arguments: DeduplicateArguments, topics: Topics
) -> Iterator[Supervisor]:
    local_aws.ensure_bucket(FLOWS_BUCKET)
    store = FlowStore(boto3.client("s3", **local_aws.client_settings), FLOWS_BUCKET)
    flow = flow_from_toml(flow_text(topics.stream), file="test.toml")
    store.make_current(store.publish([flow]))
    (queries,) = host.start(spark, "deduplicate", arguments.to_argv())
    yield queries
    queries.stop()


@pytest.mark.parametrize("topics", ["deduped"], indirect=True)
def test_an_event_passes_once_as_it_is_and_again_in_a_higher_revision_or_of_another_parser(
    job: Supervisor, topics: Topics
) -> None:
    first, second, revised = (
        event(1, "deduped"),
        event(2, "deduped"),
        event(1, "deduped", revision=1),
    )
    upgraded = event(1, "deduped", parser="json@2")
    topics.put([first, FOREIGN, first])
    topics.wait_for(2, job)

    topics.put([FOREIGN, second, first, revised, upgraded, second, event(3, "deduped")])
    records = topics.wait_for(7, job)

    passed = Counter(record.value for record in records)
    assert passed == {
        **dict.fromkeys((first, second, revised, upgraded, event(3, "deduped")), 1),
        FOREIGN: 2,
    }
    assert {(record.key, record.headers) for record in records} == {(KEY, HEADERS)}


@pytest.mark.parametrize("topics", ["uncommitted"], indirect=True)
def test_a_crash_repeats_the_batch_that_was_not_committed_and_nothing_before_it(
    spark: SparkSession, arguments: DeduplicateArguments, topics: Topics, tmp_path: Path
) -> None:
    stream, commits = topics.stream, tmp_path / "deduplicate_uncommitted" / "commits"
    query = started(spark, arguments, stream=stream, window_s=600)
    topics.put([event(1, stream)])
    topics.wait_for(1)
    topics.put([event(1, stream), event(2, stream)])
    topics.wait_for(2)
    stop_between_batches([query])

    last = max(int(path.name) for path in commits.glob("[0-9]*"))
    for file in (str(last), f".{last}.crc"):  # as a kill leaves it, between sink and commit
        (commits / file).unlink()
    query = started(spark, arguments, stream=stream, window_s=600)
    topics.put([event(1, stream), event(2, stream), event(3, stream)])
    passed = ids_in(topics.wait_for(4))
    query.stop()

    assert sorted(passed.values()) == [1, 1, 2]
    assert passed[f"{Sent(number=2).raw_id}-0", 0] == 2
