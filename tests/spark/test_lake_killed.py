"""Job ``lake`` killed in mid-commit, Kafka to tables: rows are as many as distinct ids."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import orjson
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from clients.kafka_producer import KafkaProducer
from clients.kafka_topics import KafkaTopics
from clients.producer_record import ProducerRecord
from fleetlane.events.job_arguments import (
    HostArguments,
    KafkaSecurity,
    LakeArguments,
    LakeTables,
)
from fleetlane.events.lake_tables import CATALOG, DAILY, PARSED, RECEIVED, LakeTable
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED
from local.aws import LocalAws, variables_for
from local.checkout import ROOT
from local.jobs import JobSettings, job_environment, spark_submit
from local.kafka import KafkaBroker
from local.lake import LocalLake
from local.processes import ServerProcess
from tests.spark.lake_records import Sent

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.faults,
    pytest.mark.full_length,
]

WAIT_S = 240.0
BUCKET = "killed-lake"
MESSAGES = 2_000
RECORDS = 4 * MESSAGES
"""Of each message two rows of ``fleet.received``, and two of ``fleet.parsed``."""

BATCH_RECORDS = 1_000
DEVICES = 50
KILLED_AT = (RECEIVED, PARSED, DAILY, RECEIVED)
"""As soon as the batch has written a file of this table: the commit comes after that."""


@pytest.fixture
def settings(kafka_broker: KafkaBroker, local_aws: LocalAws, tmp_path: Path) -> JobSettings:
    local_aws.ensure_bucket(BUCKET)
    aws, servers = local_aws.client_settings, kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=2, replication=1)
    topics.create_missing([FLEET_RECEIVED, FLEET_PARSED])
    (tmp_path / "lake").mkdir()
    return JobSettings(
        folder=tmp_path,
        bootstrap_servers=servers,
        flows_bucket=BUCKET,
        payload_bucket=BUCKET,
        parked_bucket=BUCKET,
        lake_bucket=BUCKET,
        overrides_bucket="none",
        registry_table="none",
        lake=LocalLake(tmp_path / "lake"),
        environment=variables_for(aws),
    )


@contextmanager
def job(settings: JobSettings) -> Iterator[ServerProcess]:
    """The job in its host, as spark-submit starts it; killed at the end, if not before."""
    arguments = LakeArguments(
        kafka_bootstrap_servers=settings.bootstrap_servers,
        kafka_security=KafkaSecurity.PLAINTEXT,
        checkpoint_folder=(settings.folder / "checkpoints").as_uri(),
        tables=LakeTables.FLEET,
        lake_warehouse=settings.lake.warehouse,
        lake_bucket=BUCKET,
        lake_catalog_uri=settings.lake.jdbc_uri,
        lake_trigger_ms=1,
        lake_records_per_batch_max=BATCH_RECORDS,
        lake_lease_s=3,
    )
    host = HostArguments(application="killed", jobs="lake")
    process = ServerProcess(
        "lake",
        [
            *spark_submit(settings.folder, task_slots=2),
            str(ROOT / "glue_jobs" / "host.py"),
            *host.to_argv(),
            *arguments.to_argv(),
        ],
        log_path=settings.folder / "spark.log",
        env=job_environment(settings),
        cwd=ROOT,
    )
    process.start()
    try:
        yield process
    finally:
        process.kill()


def put(settings: JobSettings) -> None:
    producer = KafkaProducer(bootstrap_servers=settings.bootstrap_servers)
    for number in range(2 * MESSAGES):
        sent = Sent(number=number % MESSAGES, device_id=f"d-{number % DEVICES}")
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
    folder = settings.folder / "checkpoints" / "lake_fleet"
    begun, done = (
        max((int(path.name) for path in (folder / name).glob("[0-9]*")), default=-1)
        for name in ("offsets", "commits")
    )
    if begun < 0 or begun != done:
        return False
    ends = orjson.loads((folder / "offsets" / str(begun)).read_text().splitlines()[-1])
    return sum(sum(partitions.values()) for partitions in ends.values()) >= RECORDS


def test_a_lake_killed_in_mid_commit_has_one_row_an_id(settings: JobSettings) -> None:
    put(settings)

    for table in KILLED_AT:
        with job(settings) as process:
            seen = files_of(settings, table)
            process.wait_ready(partial(has_more_files, settings, table, seen), timeout_s=WAIT_S)
    with job(settings) as process:
        process.wait_ready(partial(all_is_committed, settings), timeout_s=WAIT_S)

    with closing(SqlCatalog(CATALOG, uri=f"sqlite:///{settings.lake.catalog_path}")) as catalog:
        received, parsed, daily = (
            catalog.load_table(table.identifier).scan().to_arrow().to_pylist()
            for table in (RECEIVED, PARSED, DAILY)
        )
    assert len(received) == len({row["id"] for row in received}) == MESSAGES
    assert len(parsed) == len({row["id"] for row in parsed}) == MESSAGES
    assert sum(row["messages"] for row in daily) == sum(row["parsed"] for row in daily) == MESSAGES
