"""A real broker, and S3 with the flows and their parsers."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import boto3
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from msgspec.structs import replace

from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore
from clients.kafka.topics import KafkaTopics
from fleetlane.events.flows.artifacts import ANY_PLATFORM
from fleetlane.events.flows.flow import Flow
from fleetlane.parsers.artifacts.writing import Package, write_artifact
from local.checkout import BROKER_JARS, LOCALSTACK_ENVIRONMENT
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from operations.endpoints import variables_for

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET: Final = "flows"
OWNER: Final = "benchmarks"
_BROKER_HEAP_MB: Final = 512
_WAIT_S: Final = 10.0
_ASK_AGAIN_S: Final = 0.1
_NO_LEADER_YET: Final = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """``watcher`` is asked for offsets. ``pids`` are those of the broker and of S3."""

    folder: Path
    aws: LocalAws
    bootstrap_servers: str
    aws_variables: Mapping[str, str]
    pids: tuple[int, ...]
    s3: "S3Client"
    admin: AdminClient
    watcher: Consumer

    @classmethod
    def of(cls, broker: KafkaBroker, aws: LocalAws, folder: Path) -> Self:
        """Those that run already, in ``folder``."""
        servers, settings = broker.bootstrap_servers, aws.client_settings
        return cls(
            folder=folder,
            aws=aws,
            bootstrap_servers=servers,
            aws_variables=variables_for(settings),
            pids=tuple(one.pid or 0 for one in (broker, aws)),
            s3=boto3.client("s3", **settings),
            admin=AdminClient({"bootstrap.servers": servers, "log_level": 0}),
            watcher=Consumer({"bootstrap.servers": servers, "group.id": "watcher", "log_level": 0}),
        )

    def create_topics(self, topics: Iterable[str], *, partitions: int) -> None:
        """Create those that are missing."""
        kafka = KafkaTopics(
            bootstrap_servers=self.bootstrap_servers, partitions=partitions, replication=1
        )
        kafka.create_missing(topics)

    def deploy(self, module: Path, parser: str, class_name: str) -> None:
        """Deploy a module as the artifact of a parser, version 1.0, as its team would."""
        target = f"{module.stem}:{class_name}"
        entry = f"[fleetlane.parsers]\n{parser} = {target}\n"
        contents = {
            module.name: module.read_bytes(),
            f"{parser}-1.0.dist-info/METADATA": f"Name: {parser}\nVersion: 1.0\n".encode(),
            f"{parser}-1.0.dist-info/entry_points.txt": entry.encode(),
        }
        package = Package(
            name=parser, version="1.0", parsers={parser: target}, platform=ANY_PLATFORM
        )
        artifact = write_artifact(self.folder, package, contents)
        ParserStore(self.s3, BUCKET).deploy(artifact, owner=OWNER)

    def publish(self, flows: Iterable[Flow]) -> None:
        """Put flows into force, in place of those before."""
        all_flows, parsers = list(flows), ParserStore(self.s3, BUCKET)
        uses = {rule.use for flow in all_flows for rule in flow.parsers}
        deployed = [parsers.offering(OWNER, use) for use in sorted(uses)]
        owners = {flow.owner for flow in all_flows}
        of_each = [replace(one, owner=owner) for one in deployed if one for owner in owners]
        store = FlowStore(self.s3, BUCKET)
        store.make_current(store.publish(all_flows, of_each))

    def end_offsets(self, topic: str) -> list[int]:
        """The number of records that were ever written to each partition."""
        partitions = self.watcher.list_topics(topic, timeout=_WAIT_S).topics[topic].partitions
        return [self._bounds(topic, number)[1] for number in sorted(partitions)]

    def begin_offsets(self, topic: str) -> list[int]:
        """Where each partition begins: behind what was deleted."""
        return [self._bounds(topic, number)[0] for number in range(len(self.end_offsets(topic)))]

    def _bounds(self, topic: str, number: int) -> tuple[int, int]:
        """Where a partition begins and ends."""
        partition = TopicPartition(topic, number)
        return _led(lambda: self.watcher.get_watermark_offsets(partition, timeout=_WAIT_S))

    def end_offset(self, topic: str) -> int:
        """The number of records that were ever written to a topic."""
        return sum(self.end_offsets(topic))

    def delete_records(self, topics: Iterable[str]) -> None:
        """Delete what was written, so that the disk does not fill up."""
        for topic in topics:
            _led(partial(self._delete_records, topic))

    def _delete_records(self, topic: str) -> None:
        # Asked of the admin client: it caches metadata, which may lack newer partitions.
        listed = self.admin.list_topics(topic, timeout=_WAIT_S)
        ends = [TopicPartition(topic, number, -1) for number in listed.topics[topic].partitions]
        for future in self.admin.delete_records(ends).values():
            future.result()


def _led[T](ask: Callable[[], T]) -> T:
    """Ask again for a while: partitions that were made just now may have no leader yet."""
    until_s = time.monotonic() + _WAIT_S
    while True:
        try:
            return ask()
        except KafkaException as problem:
            if problem.args[0].code() not in _NO_LEADER_YET or time.monotonic() > until_s:
                raise
            time.sleep(_ASK_AGAIN_S)


@contextmanager
def services(folder: Path, *, java_options: Sequence[str] = ()) -> Iterator[Services]:
    """Start broker, with such a JVM, and S3 in ``folder``; both are stopped at the end."""
    broker = KafkaBroker(
        folder / "kafka", jars=BROKER_JARS, heap_mb=_BROKER_HEAP_MB, java_options=java_options
    )
    aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT)
    try:
        broker.start()
        aws.start()
        aws.ensure_bucket(BUCKET)
        yield Services.of(broker, aws, folder)
    finally:
        aws.stop()
        broker.stop()
