"""What all contenders share: a broker with the messages, and S3 with the flow."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.workload import PARTITIONS, RAW_TOPIC, STREAM, flow, write_messages
from clients.flow_store import FlowStore
from clients.kafka_topics import KafkaTopics
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic
from local.aws import LocalAws
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.kafka import KafkaBroker

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FLOWS_BUCKET: Final = "flows"
_BROKER_HEAP_MB: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """``site`` is the folder where the parser is installed; ``watcher`` is asked for offsets."""

    folder: Path
    site: Path
    bootstrap_servers: str
    aws_variables: Mapping[str, str]
    s3: "S3Client"
    admin: AdminClient
    watcher: Consumer

    def publish(self, turns: int) -> None:
        """Let the flow be one whose parser turns so often for each message."""
        store = FlowStore(self.s3, FLOWS_BUCKET)
        store.make_current(store.publish([flow(turns)]))


@contextmanager
def stage(folder: Path, messages: int) -> Iterator[Stage]:
    """Start broker and S3 in ``folder``, and write the messages; all is stopped at the end."""
    broker = KafkaBroker(folder / "kafka", jars=BROKER_JARS, heap_mb=_BROKER_HEAP_MB)
    aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT)
    try:
        broker.start()
        aws.start()
        aws.ensure_bucket(FLOWS_BUCKET)
        servers = broker.bootstrap_servers
        outputs = (canonical_topic(STREAM), FLEET_PARSED, COPIES_TOPIC, PARKED)
        topics = KafkaTopics(bootstrap_servers=servers, partitions=PARTITIONS, replication=1)
        topics.create_missing([RAW_TOPIC, "raw.slow", *outputs])
        write_messages(servers, messages)
        settings = aws.client_settings
        yield Stage(
            folder=folder,
            site=_site_with_parser(folder / "site"),
            bootstrap_servers=servers,
            aws_variables={
                "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
                "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
                "AWS_DEFAULT_REGION": settings["region_name"],
                "AWS_ENDPOINT_URL": settings["endpoint_url"],
            },
            s3=boto3.client("s3", **settings),
            admin=AdminClient({"bootstrap.servers": servers, "log_level": 0}),
            watcher=Consumer({"bootstrap.servers": servers, "group.id": "watcher"}),
        )
    finally:
        aws.stop()
        broker.stop()


def _site_with_parser(site: Path) -> Path:
    metadata = site / "readings-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: readings\nVersion: 1.0\n")
    entry = "[fleetlane.parsers]\nreadings = benchmarks.parse.readings_parser:Readings\n"
    (metadata / "entry_points.txt").write_text(entry)
    sys.path.append(str(site))
    return site
