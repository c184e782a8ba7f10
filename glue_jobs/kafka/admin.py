"""Kafka's own admin client in the driver's JVM, and how far queries have read, committed with it.

It logs in as the jobs' source and sink do.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Final, Protocol

import orjson
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import JobArguments, KafkaSecurity
from fleetlane.events.topics import mirrored_group, seen_note
from glue_jobs.engine.session import java_class

ANSWER_MS_MAX: Final = 10_000
_SPARKS_PREFIX: Final = "kafka."
_CLIENTS: Final = "org.apache.kafka.clients"
_KAFKAS: Final = "KafkaV2"
"""How descriptions of Kafka sources begin; other sources have offsets of another form."""

type Partition = tuple[str, int]
type Offsets = Mapping[Partition, int]


class KafkaAdminError(FleetlaneError):
    """Kafka does not answer, or refuses. Trying again later may succeed."""

    reason = "kafka_admin"
    problem: str
    sentence = "Kafka's administration failed: {problem}"


class KafkaAdmin:
    """What is asked of the cluster itself. Each call waits for 10 seconds at most.

    It is first spoken to when something is asked. All may raise ``KafkaAdminError``.
    """

    def __init__(self, session: SparkSession, arguments: JobArguments) -> None:
        self._session, self._arguments = session, arguments

    def close(self) -> None:
        self._admin.close()

    def cluster_id(self) -> str:
        return str(self._asked(lambda: self._admin.describeCluster().clusterId().get()))

    def topics(self) -> frozenset[str]:
        """The names of all topics that these jobs may know of."""
        return frozenset(self._asked(lambda: self._admin.listTopics().names().get()))

    def commit(self, group: str, offsets: Offsets, *, note: str) -> None:
        """Commit how far a group has read; it must have no members."""
        admin, by_partition = self._admin, self._class("java.util.HashMap")()
        noted = self._class(f"{_CLIENTS}.consumer.OffsetAndMetadata")
        for partition, offset in offsets.items():
            by_partition.put(self._partition(partition), noted(offset, note))
        self._asked(lambda: admin.alterConsumerGroupOffsets(group, by_partition).all().get())

    def committed(self, group: str) -> Offsets:
        """How far a group has read, where that was written down."""
        found = self._asked(
            lambda: (
                self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
            )
        )
        return {
            (entry.getKey().topic(), entry.getKey().partition()): entry.getValue().offset()
            for entry in found.entrySet()
            if entry.getValue() is not None
        }

    def groups(self) -> list[str]:
        """The names of all groups that these jobs may know of."""
        found = self._asked(lambda: self._admin.listConsumerGroups().all().get())
        return [listed.groupId() for listed in found]

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        """The offset of the first record that each partition still has; none of missing topics."""
        admin, asked, topics = self._admin, self._class("java.util.HashMap")(), self.topics()
        earliest = self._class(f"{_CLIENTS}.admin.OffsetSpec").earliest()
        named = {one: self._partition(one) for one in partitions if one[0] in topics}
        for one in named.values():
            asked.put(one, earliest)
        found = self._asked(lambda: admin.listOffsets(asked).all().get())
        return {partition: found.get(one).offset() for partition, one in named.items()}

    @cached_property
    def _admin(self) -> Any:
        clients = self._class(f"{_CLIENTS}.admin.AdminClient")
        if not isinstance(clients, JavaClass):
            raise KafkaAdminError("its classes are not on the driver's class path")
        options = self._class("java.util.HashMap")()
        for name, value in kafka_connection(self._arguments).items():
            options.put(name.removeprefix(_SPARKS_PREFIX), value)
        options.put("request.timeout.ms", str(ANSWER_MS_MAX // 2))
        options.put("default.api.timeout.ms", str(ANSWER_MS_MAX))
        return self._asked(lambda: clients.create(options))

    def _class(self, name: str) -> Any:
        return java_class(self._session, name)

    def _partition(self, partition: Partition) -> Any:
        return self._class("org.apache.kafka.common.TopicPartition")(*partition)

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except Py4JError as problem:
            raise KafkaAdminError(str(problem).splitlines()[-1]) from problem


def cluster_id(session: SparkSession, arguments: JobArguments) -> str | None:
    """The name that the cluster gave itself when it was made; ``None`` where it does not answer."""
    try:
        with closing(KafkaAdmin(session, arguments)) as admin:
            return admin.cluster_id()
    except KafkaAdminError:
        return None


_IAM: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AWS_MSK_IAM",
    "kafka.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "kafka.sasl.client.callback.handler.class": (
        "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    ),
}
"""As Amazon's own login module wants it: the role's credentials, no secret in any option."""


def kafka_connection(arguments: JobArguments) -> dict[str, str]:
    """The options by which Spark reaches Kafka: Kafka's own, each behind ``kafka.``."""
    servers = {"kafka.bootstrap.servers": arguments.kafka_bootstrap_servers}
    match arguments.kafka_security:
        case KafkaSecurity.PLAINTEXT:
            return servers
        case KafkaSecurity.IAM:
            return servers | _IAM


class Progress(Protocol):
    """What Spark reports of a query's last batch."""

    @property
    def json(self) -> str: ...


class Query(Protocol):
    """The part of a streaming query that is read here."""

    @property
    def name(self) -> str | None: ...
    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name
    @property
    def lastProgress(self) -> Progress | None: ...  # noqa: N802 - Spark's name


class Groups(Protocol):
    """Kafka's consumer groups and topics; ``KafkaAdmin`` is one."""

    def groups(self) -> Iterable[str]: ...
    def commit(self, group: str, offsets: Offsets, *, note: str) -> None: ...
    def committed(self, group: str) -> Offsets: ...
    def beginnings(self, partitions: Iterable[Partition]) -> Offsets: ...


class MirroredOffsets:
    """Commits for queries what they have read, under the names of ``mirrored_group``."""

    def __init__(
        self, groups: Groups, *, query_names: Sequence[str], now_ms: Callable[[], int]
    ) -> None:
        """``query_names`` are those of all queries that should run, or what theirs begin with."""
        self._groups, self._now_ms = groups, now_ms
        owned = [mirrored_group(name) for name in query_names]
        self._owned = re.compile("|".join(f"{re.escape(group)}([-.].+)?" for group in owned))

    def mirror(self, queries: Sequence[Query]) -> int:
        """Commit for all queries; returns how many records expired before their query read them.

        How far a query without a batch came before is read from Kafka, and so it is for those that
        should run and do not.

        Raises:
            KafkaAdminError: Kafka does not answer.
        """
        read = [self._read_by(query) for query in queries]
        groups = {mirrored_group(query.name or "") for query in queries}
        missing = [
            group
            for group in self._groups.groups()
            if group not in groups and self._owned.fullmatch(group)
        ]
        read += [self._groups.committed(group) for group in missing]
        return sum(map(self._expired, read))

    def _read_by(self, query: Query) -> Offsets:
        group = mirrored_group(query.name or "")
        read = offsets_after(query.lastProgress) or self._groups.committed(group)
        if read and query.isActive:
            self._groups.commit(group, read, note=seen_note(self._now_ms()))
        return read

    def _expired(self, read: Offsets) -> int:
        beginnings = self._groups.beginnings(read) if read else {}
        return sum(max(0, begin - read[partition]) for partition, begin in beginnings.items())


def offsets_after(progress: Progress | None) -> Offsets:
    """The offset of the next record to be read, by partition; nothing where no batch was done."""
    if progress is None:
        return {}
    offsets: dict[Partition, int] = {}
    for source in orjson.loads(progress.json)["sources"]:
        if source["description"].startswith(_KAFKAS):
            for topic, partitions in source["endOffset"].items():
                offsets |= {(topic, int(number)): at for number, at in partitions.items()}
    return offsets
