"""Job ``deduplicate`` killed in mid-batch: nothing is lost, and that batch alone is repeated."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path

import boto3
import pytest

from clients.flows.store import FlowStore
from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import Record
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import topics_of
from fleetlane.events.job_arguments import DeduplicateArguments, HostArguments, KafkaSecurity
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings
from tests.spark.killed_jobs import (
    WAIT_S,
    Checkpoint,
    Offsets,
    checkpoint_folder,
    killable_settings,
    running_job,
)
from tests.spark.lake_records import Sent

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.faults,
    pytest.mark.full_length,
]

BUCKET = "killed-flows"
STREAM = "killed"
FLOW = f"""
stream = "{STREAM}"
owner = "acme"
[dedupe]
window_s = 3600
[[parsers]]
use = "json"
"""
EVENTS = 4_000
BATCH_EVENTS = 1_000
EVENTS_BEFORE_A_KILL = (1, 1_001, 2_501)
"""Each is the first that its batch writes."""


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    flow = flow_from_toml(FLOW, file="test.toml")
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing(topics_of([flow]))
    settings = killable_settings(tmp_path, bucket=BUCKET, broker=kafka_broker, aws=local_aws)
    store = FlowStore(boto3.client("s3", **local_aws.client_settings), BUCKET)
    store.make_current(store.publish([flow]))
    return settings


def job(settings: JobSettings) -> AbstractContextManager[ServerProcess]:
    """The job in its host."""
    arguments = DeduplicateArguments(
        kafka_bootstrap_servers=settings.resources.kafka_bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=checkpoint_folder(settings).as_uri(),
        flows_bucket=BUCKET,
        dedupe_trigger_ms=1,
        dedupe_events_per_batch_max=BATCH_EVENTS,
        dedupe_state_partitions=1,
    )
    host = HostArguments(application="killed", jobs="deduplicate")
    return running_job(settings, *host.to_argv(), *arguments.to_argv())


def put(settings: JobSettings, numbers: Iterable[int]) -> None:
    producer = KafkaProducer(bootstrap_servers=settings.resources.kafka_bootstrap_servers)
    for number in numbers:
        _, value, _ = Sent(number=number, stream=STREAM).event()
        key = str(number).encode()
        topic = f"canonical.{STREAM}"
        producer.land(ProducerRecord(topic=topic, key=key, value=value, headers=[]))


def read(settings: JobSettings, topic: str) -> list[Record]:
    with closing(KafkaReader(settings.resources.kafka_bootstrap_servers, topics=[topic])) as reader:
        return list(reader.read_once())


def uncommitted(settings: JobSettings) -> tuple[Offsets, Offsets]:
    """From where to where the batch goes that was begun and not committed; empty if none was."""
    checkpoint = Checkpoint.of(settings, f"deduplicate_{STREAM}")
    batch = checkpoint.begun
    if batch == checkpoint.done:
        return {}, {}
    return checkpoint.ends(batch - 1), checkpoint.ends(batch)


def ids_within(records: Sequence[Record], begins: Offsets, ends: Offsets) -> set[str]:
    """The events of canonical records that are in a batch."""
    return {
        canonical_event_from(one.value or b"").id
        for one in records
        if begins.get(one.topic, {}).get(str(one.partition), 0)
        <= one.offset
        < ends.get(one.topic, {}).get(str(one.partition), 0)
    }


def test_a_kill_in_mid_batch_loses_nothing_and_repeats_that_batch_alone(
    settings: JobSettings,
) -> None:
    put(settings, (number // 2 for number in range(2 * EVENTS)))
    canonical = read(settings, f"canonical.{STREAM}")
    in_killed_batches: set[str] = set()
    unique: list[Record] = []
    with closing(
        KafkaReader(settings.resources.kafka_bootstrap_servers, topics=[f"unique.{STREAM}"])
    ) as reader:

        def has(distinct: int) -> bool:
            unique.extend(reader.read_available())
            return len({one.value for one in unique}) >= distinct

        for events in EVENTS_BEFORE_A_KILL:
            with job(settings) as process:
                process.wait_ready(partial(has, events), timeout_s=WAIT_S)
            in_killed_batches |= ids_within(canonical, *uncommitted(settings))
        with job(settings) as process:
            process.wait_ready(partial(has, EVENTS), timeout_s=WAIT_S)

    ids = [canonical_event_from(one.value or b"").id for one in unique]
    repeated = {one for one, count in Counter(ids).items() if count > 1}
    assert len(set(ids)) == EVENTS
    assert repeated <= in_killed_batches
