"""What all contenders share: a broker with the messages, and S3 with the flow."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import boto3
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from benchmarks.parse import readings_parser
from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.workload import PARTITIONS, RAW_TOPIC, STREAM, flow, write_messages
from clients.flow_store import FlowStore
from clients.kafka_topics import KafkaTopics
from clients.parser_store import ParserStore
from fleetlane.events.artifact_manifest import ANY_PLATFORM
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic
from fleetlane.parsers.artifacts.writing import Package, write_artifact
from local.aws import LocalAws
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.kafka import KafkaBroker

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FLOWS_BUCKET: Final = "flows"
_BROKER_HEAP_MB: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """``watcher`` is asked for offsets."""

    folder: Path
    bootstrap_servers: str
    aws_variables: Mapping[str, str]
    s3: "S3Client"
    admin: AdminClient
    watcher: Consumer

    def publish(self, turns: int) -> None:
        """Let the flow be one whose parser turns so often for each message."""
        one, parsers = flow(turns), ParserStore(self.s3, FLOWS_BUCKET)
        artifacts = [parsers.offering(one.owner, rule.use) for rule in one.parsers]
        store = FlowStore(self.s3, FLOWS_BUCKET)
        store.make_current(store.publish([one], [found for found in artifacts if found]))


@contextmanager
def stage(folder: Path, messages: int) -> Iterator[Stage]:
    """Start broker and S3 in ``folder``, and write the messages; all is stopped at the end."""
    broker = KafkaBroker(
        folder / "kafka", jars=BROKER_JARS, heap_mb=_BROKER_HEAP_MB, java_options=()
    )
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
        s3 = boto3.client("s3", **settings)
        ParserStore(s3, FLOWS_BUCKET).deploy(_artifact(folder), owner=flow(0).owner)
        yield Stage(
            folder=folder,
            bootstrap_servers=servers,
            aws_variables={
                "AWS_ACCESS_KEY_ID": settings["aws_access_key_id"],
                "AWS_SECRET_ACCESS_KEY": settings["aws_secret_access_key"],
                "AWS_DEFAULT_REGION": settings["region_name"],
                "AWS_ENDPOINT_URL": settings["endpoint_url"],
            },
            s3=s3,
            admin=AdminClient({"bootstrap.servers": servers, "log_level": 0}),
            watcher=Consumer({"bootstrap.servers": servers, "group.id": "watcher", "log_level": 0}),
        )
    finally:
        aws.stop()
        broker.stop()


def _artifact(folder: Path) -> Path:
    """The parser as its team would deploy it."""
    module = Path(readings_parser.__file__)
    target = f"{module.stem}:Readings"
    contents = {
        module.name: module.read_bytes(),
        "readings-1.0.dist-info/METADATA": b"Name: readings\nVersion: 1.0\n",
        "readings-1.0.dist-info/entry_points.txt": (
            f"[fleetlane.parsers]\nreadings = {target}\n".encode()
        ),
    }
    package = Package(
        name="readings", version="1.0", parsers={"readings": target}, platform=ANY_PLATFORM
    )
    return write_artifact(folder, package, contents)
