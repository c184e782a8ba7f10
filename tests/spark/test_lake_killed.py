"""Job ``lake`` killed in mid-commit, Kafka to tables: rows are as many as distinct ids."""

from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import HostArguments, KafkaSecurity, LakeArguments, LakeTables
from fleetlane.events.lake.tables import CATALOG, DAILY, PARSED, RECEIVED, LakeTable
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark.jobs import JobSettings
from tests.spark.killed_jobs import (
    WAIT_S,
    Checkpoint,
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

BUCKET = "killed-lake"
MESSAGES = 2_000
RECORDS = 4 * MESSAGES
"""Of each message two rows of ``fleet.received``, and two of ``fleet.parsed``."""

BATCH_RECORDS = 1_000
DEVICES = 50
DEVICE = "killed"
"""What its devices' ids begin with: the broker may have records of other tests."""

KILLED_AT = (RECEIVED, PARSED, DAILY, RECEIVED)
"""As soon as the batch has written a file of this table: the commit comes after that."""


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing([FLEET_RECEIVED, FLEET_PARSED])
    (tmp_path / "lake").mkdir()
    return killable_settings(tmp_path, bucket=BUCKET, broker=kafka_broker, aws=local_aws)


def job(settings: JobSettings) -> AbstractContextManager[ServerProcess]:
    """The job in its host."""
    arguments = LakeArguments(
        kafka_bootstrap_servers=settings.resources.kafka_bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=checkpoint_folder(settings).as_uri(),
        tables=LakeTables.FLEET,
        lake_warehouse=settings.lake.warehouse,
        lake_bucket=BUCKET,
        payload_bucket="none",
        flows_bucket=BUCKET,
        lake_catalog_uri=settings.lake.jdbc_uri,
        lake_trigger_ms=1,
        lake_records_per_batch_max=BATCH_RECORDS,
        lake_lease_s=3,
    )
    host = HostArguments(application="killed", jobs="lake")
    return running_job(settings, *host.to_argv(), *arguments.to_argv())


def put(settings: JobSettings) -> None:
    producer = KafkaProducer(bootstrap_servers=settings.resources.kafka_bootstrap_servers)
    for number in range(2 * MESSAGES):
        sent = Sent(number=number % MESSAGES, device_id=f"{DEVICE}-{number % DEVICES}")
        for topic, value, _ in (sent.received(), sent.parsed()):
            key = sent.device_id.encode()
            producer.land(ProducerRecord(topic=topic, key=key, value=value, headers=[]))


def files_of(settings: JobSettings, table: LakeTable) -> int:
    folder = settings.lake.folder / table.identifier.replace(".", "/")
    return sum(1 for _ in folder.glob("data/**/*.parquet"))


def has_more_files(settings: JobSettings, table: LakeTable, than: int) -> bool:
    return files_of(settings, table) > than


def all_is_committed(settings: JobSettings) -> bool:
    """Whether the last batch goes to the topics' ends, and is done."""
    checkpoint = Checkpoint.of(settings, "lake_fleet")
    batch = checkpoint.begun
    if batch < 0 or batch != checkpoint.done:
        return False
    return sum(sum(ends.values()) for ends in checkpoint.ends(batch).values()) >= RECORDS


def rows_of(settings: JobSettings, table: LakeTable) -> list[dict[str, Any]]:
    with closing(SqlCatalog(CATALOG, uri=f"sqlite:///{settings.lake.catalog_path}")) as catalog:
        rows: list[dict[str, Any]] = (
            catalog.load_table(table.identifier).scan().to_arrow().to_pylist()
        )
        return [row for row in rows if row["device_id"].startswith(DEVICE)]


def all_is_counted(settings: JobSettings) -> bool:
    parsed: int = sum(row["parsed"] for row in rows_of(settings, DAILY))
    return parsed >= MESSAGES


def test_a_lake_killed_in_mid_commit_has_one_row_an_id(settings: JobSettings) -> None:
    put(settings)

    for table in KILLED_AT:
        with job(settings) as process:
            seen = files_of(settings, table)
            process.wait_ready(partial(has_more_files, settings, table, seen), timeout_s=WAIT_S)
    with job(settings) as process:
        process.wait_ready(partial(all_is_committed, settings), timeout_s=WAIT_S)
        process.wait_ready(partial(all_is_counted, settings), timeout_s=WAIT_S)

    received, parsed, daily = (rows_of(settings, table) for table in (RECEIVED, PARSED, DAILY))
    assert len(received) == len({row["id"] for row in received}) == MESSAGES
    assert len(parsed) == len({row["id"] for row in parsed}) == MESSAGES
    assert sum(row["messages"] for row in daily) == sum(row["parsed"] for row in daily) == MESSAGES
