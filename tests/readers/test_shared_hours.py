"""Two processes that share hours by claims, of which one is killed: each hour is written once."""

import io
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyarrow import parquet
from pyiceberg.catalog.sql import SqlCatalog

from clients.kafka.topics import KafkaTopics
from fleetlane.events.metadata import parsed_value
from fleetlane.events.times import HOUR_MS
from fleetlane.events.topics import FLEET_PARSED
from local.checkout import ROOT
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from readers.parquet_by_hour import PARTS
from tests.readers.test_buckets import a_row

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

STREAM: Final = "shared-hours"
HOURS: Final = 20
DEVICES: Final = [f"d-{number}" for number in range(12)]
LEASE_S: Final = 5.0
PATIENCE_S: Final = 120
LAST_HOUR: Final = 480_000  # in 2024: long over
ARRIVALS_MS: Final = [(LAST_HOUR - hour) * HOUR_MS for hour in range(HOURS)]
IDS: Final = sorted(f"{one}-{at_ms}" for one in DEVICES for at_ms in ARRIVALS_MS)

pytestmark = [pytest.mark.kafka, pytest.mark.localstack]


@pytest.fixture
def s3(local_aws: LocalAws) -> Iterator["S3Client"]:
    local_aws.ensure_bucket(STREAM)
    with closing(boto3.client("s3", **local_aws.client_settings)) as s3:
        s3.put_bucket_versioning(Bucket=STREAM, VersioningConfiguration={"Status": "Enabled"})
        yield s3


@pytest.fixture
def catalog(tmp_path: Path) -> dict[str, str]:
    """The lake with an event of each device in each hour; how PyIceberg finds it."""
    place = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": tmp_path.as_uri()}
    rows = [
        {"stream": STREAM, "id": f"{one}-{at_ms}", "device_id": one, "arrival_ms": at_ms}
        for one in DEVICES
        for at_ms in ARRIVALS_MS
    ]
    table = pa.Table.from_pylist(rows)
    with closing(SqlCatalog("lake", **place)) as lake:
        lake.create_namespace("fleetlane")
        lake.create_table("fleetlane.events", schema=table.schema).append(table)
    settings = {"TYPE": "sql", **{name.upper(): value for name, value in place.items()}}
    return {f"PYICEBERG_CATALOG__LAKE__{name}": value for name, value in settings.items()}


@pytest.fixture
def kafka(kafka_broker: KafkaBroker) -> str:
    """A broker whose ``fleet.parsed`` has a row of each message."""
    servers = kafka_broker.bootstrap_servers
    KafkaTopics(bootstrap_servers=servers, partitions=4, replication=1).create_missing(
        [FLEET_PARSED]
    )
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for one in DEVICES:
        for at_ms in ARRIVALS_MS:
            row = a_row(device_id=one, stream=STREAM, received_ms=at_ms, parsed_ms=at_ms)
            producer.produce(FLEET_PARSED, parsed_value(row), key=one)
    producer.flush(30)
    return servers


def test_each_hour_is_written_once_though_a_reader_is_killed(
    local_aws: LocalAws, kafka: str, catalog: dict[str, str], s3: "S3Client"
) -> None:
    command = [sys.executable, "-m", "readers.parquet_by_hour", "--catalog", "lake"]
    command += ["--kafka", kafka, "--stream", STREAM, "--to", STREAM, "--lease-s", str(LEASE_S)]
    environment = {**local_aws.client_environment, **catalog}
    folder = ROOT / "examples" / "readers"
    readers = [subprocess.Popen(command, cwd=folder, env=environment) for _ in range(2)]

    try:
        in_the_middle = wait_for_keys(s3, HOURS * PARTS // 4)
        readers[0].kill()
        is_all = wait_for_keys(s3, HOURS * PARTS)
        time.sleep(LEASE_S)  # who would write one again has it by now
    finally:
        for one in readers:
            one.kill()
            one.wait()

    assert in_the_middle < HOURS * PARTS
    assert (is_all, ids_in(s3)) == (HOURS * PARTS, IDS)
    assert sum(versions_in(s3).values()) <= HOURS * PARTS + 1  # what the killed one just wrote


def wait_for_keys(s3: "S3Client", count: int) -> int:
    """Wait until so many files are there; how many are."""
    until_s = time.monotonic() + PATIENCE_S
    while (there := len(versions_in(s3))) < count and time.monotonic() < until_s:
        time.sleep(0.2)
    return there


def versions_in(s3: "S3Client") -> Counter[str]:
    listed = s3.list_object_versions(Bucket=STREAM, Prefix=f"{STREAM}/")
    return Counter(one["Key"] for one in listed.get("Versions", ()))


def ids_in(s3: "S3Client") -> list[str]:
    bodies = (s3.get_object(Bucket=STREAM, Key=key)["Body"].read() for key in versions_in(s3))
    tables = [parquet.read_table(io.BytesIO(body)) for body in bodies]
    return sorted(id_ for table in tables for id_ in table["id"].to_pylist())
