"""A full batch of the lake waits for nothing: what bounds its intake is its workers, no clock."""

from functools import partial
from pathlib import Path

import pytest

from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity, LakeArguments, LakeTables
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.spark.jobs import JobSettings
from tests.spark.killed_jobs import (
    WAIT_S,
    Checkpoint,
    checkpoint_folder,
    killable_settings,
    running_job,
)
from tests.spark.lake_records import Sent

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

BUCKET = "lake-intake"
BATCH_RECORDS = 40
FULL_BATCHES = 3
TRIGGER_MS = 10 * 60 * 1000
"""Longer than the test waits."""


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing([FLEET_RECEIVED, FLEET_PARSED])
    (tmp_path / "lake").mkdir()
    return killable_settings(tmp_path, bucket=BUCKET, broker=kafka_broker, aws=local_aws)


def has_read(settings: JobSettings, records: int) -> bool:
    checkpoint = Checkpoint.of(settings, "lake_fleet")
    if checkpoint.done < 0:
        return False
    return sum(sum(ends.values()) for ends in checkpoint.ends(checkpoint.done).values()) >= records


def test_full_batches_follow_each_other_at_once(settings: JobSettings) -> None:
    producer = KafkaProducer(bootstrap_servers=settings.resources.kafka_bootstrap_servers)
    for number in range(FULL_BATCHES * BATCH_RECORDS):
        topic, value, _ = Sent(number=number).received()
        producer.land(ProducerRecord(topic=topic, key=b"d-1", value=value, headers=[]))
    arguments = LakeArguments(
        kafka_bootstrap_servers=settings.resources.kafka_bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=checkpoint_folder(settings).as_uri(),
        tables=LakeTables.FLEET,
        lake_warehouse=settings.lake.warehouse,
        lake_bucket=BUCKET,
        payload_bucket=BUCKET,
        flows_bucket=BUCKET,
        lake_catalog_uri=settings.lake.jdbc_uri,
        lake_trigger_ms=TRIGGER_MS,
        lake_records_per_batch_max=BATCH_RECORDS,
        lake_lease_s=3,
    )
    host = HostArguments(application="intake", jobs="lake")

    with running_job(settings, *host.to_argv(), *arguments.to_argv()) as process:
        all_read = partial(has_read, settings, FULL_BATCHES * BATCH_RECORDS)
        process.wait_ready(all_read, timeout_s=WAIT_S)

    assert all_read()
