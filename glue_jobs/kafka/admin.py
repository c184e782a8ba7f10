"""Kafka's own admin client in the driver's JVM. It logs in as the jobs' source and sink do."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import JobArguments, KafkaSecurity
from glue_jobs.engine.session import java_class

ANSWER_MS_MAX: Final = 10_000
_CLIENTS: Final = "org.apache.kafka.clients"
_MSK: Final = "software.amazon.msk.auth.iam"

type Partition = tuple[str, int]
type Offsets = Mapping[Partition, int]


class KafkaAdminError(FleetlaneError):
    """Kafka does not answer, or refuses. Trying again later may succeed."""

    problem: str
    sentence = "Kafka's administration failed: {problem}"


class KafkaAdmin:
    """What is asked of the cluster itself. Each question waits for 10 seconds at most.

    It is first spoken to when something is asked. All may raise ``KafkaAdminError``.
    """

    def __init__(self, session: SparkSession, arguments: JobArguments) -> None:
        self._class, self._arguments = partial(java_class, session), arguments

    def close(self) -> None:
        self._admin.close()

    def cluster_id(self) -> str:
        return str(self._asked(lambda: self._admin.describeCluster().clusterId().get()))

    def topics(self) -> frozenset[str]:
        """The names of all topics that these jobs may know of."""
        return frozenset(self._asked(lambda: self._admin.listTopics().names().get()))

    def matching(self, pattern: str) -> list[str]:
        return [one for one in self.topics() if re.fullmatch(pattern, one)]

    def commit(self, group: str, offsets: Offsets, *, note: str) -> None:
        """Commit how far a group has read; it must have no members.

        The note is stored with a null character behind it: without one librdkafka's client, which
        ``fleetlane status`` reads it by, goes on into memory that need not be text.
        """
        admin, by_partition = self._admin, self._class("java.util.HashMap")()
        noted = self._class(f"{_CLIENTS}.consumer.OffsetAndMetadata")
        for partition, offset in offsets.items():
            by_partition.put(self._partition(partition), noted(offset, f"{note}\0"))
        self._asked(lambda: admin.alterConsumerGroupOffsets(group, by_partition).all().get())

    def committed(self, group: str) -> Offsets:
        """How far a group has read, where that was written down."""
        listed = self._asked(lambda: self._admin.listConsumerGroupOffsets(group))
        found = self._asked(lambda: listed.partitionsToOffsetAndMetadata().get())
        return {
            (entry.getKey().topic(), entry.getKey().partition()): entry.getValue().offset()
            for entry in found.entrySet()
            if entry.getValue() is not None
        }

    def groups(self) -> list[str]:
        """The names of all groups that these jobs may know of."""
        found = self._asked(lambda: self._admin.listConsumerGroups().all().get())
        return [listed.groupId() for listed in found]

    def partitions(self, topics: Iterable[str]) -> Sequence[Partition]:
        found = self._described(topics)
        return [(name, one) for name, at in found for one in range(at.partitions().size())]

    def topic_ids(self, topics: Iterable[str]) -> Mapping[str, str]:
        """By name, what Kafka itself tells topics by: one that is made anew has another."""
        return {name: str(at.topicId().toString()) for name, at in self._described(topics)}

    def _described(self, topics: Iterable[str]) -> list[tuple[str, Any]]:
        named = list(topics)
        found = self._asked(lambda: self._admin.describeTopics(named).allTopicNames().get())
        return [(str(entry.getKey()), entry.getValue()) for entry in found.entrySet()]

    def beginnings(self, partitions: Iterable[Partition]) -> Offsets:
        """The offset of the first record that each partition still has; none of missing topics."""
        return self._listed(dict.fromkeys(partitions, self._specs.earliest()))

    def ends(self, partitions: Iterable[Partition]) -> Offsets:
        """The offset that each partition's next record will have; none of missing topics."""
        return self._listed(dict.fromkeys(partitions, self._specs.latest()))

    def at_times(self, times_ms: Mapping[Partition, int]) -> Offsets:
        """The offset of each partition's first record that is not older; the end if all are."""
        found = self._listed({one: self._specs.forTimestamp(at) for one, at in times_ms.items()})
        all_older = [one for one, offset in found.items() if offset < 0]
        return {**found, **self._listed(dict.fromkeys(all_older, self._specs.latest()))}

    def _listed(self, specs: Mapping[Partition, Any]) -> dict[Partition, int]:
        if not specs:
            return {}
        admin, asked, topics = self._admin, self._class("java.util.HashMap")(), self.topics()
        named = {one: self._partition(one) for one in specs if one[0] in topics}
        for one, java in named.items():
            asked.put(java, specs[one])
        found = self._asked(lambda: admin.listOffsets(asked).all().get())
        return {partition: found.get(one).offset() for partition, one in named.items()}

    @cached_property
    def _admin(self) -> Any:
        clients = self._class(f"{_CLIENTS}.admin.AdminClient")
        if not isinstance(clients, JavaClass):
            raise KafkaAdminError("its classes are not on the driver's class path")
        connection = kafka_connection(self._arguments)
        options = {name.removeprefix("kafka."): value for name, value in connection.items()}
        options["request.timeout.ms"] = str(ANSWER_MS_MAX // 2)
        options["default.api.timeout.ms"] = str(ANSWER_MS_MAX)
        return self._asked(lambda: clients.create(options))

    @property
    def _specs(self) -> Any:
        return self._class(f"{_CLIENTS}.admin.OffsetSpec")

    def _partition(self, partition: Partition) -> Any:
        return self._class("org.apache.kafka.common.TopicPartition")(*partition)

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except Py4JError as problem:
            raise KafkaAdminError(str(problem).splitlines()[-1]) from problem


_IAM: Final = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "AWS_MSK_IAM",
    "kafka.sasl.jaas.config": f"{_MSK}.IAMLoginModule required;",
    "kafka.sasl.client.callback.handler.class": f"{_MSK}.IAMClientCallbackHandler",
}
"""As Amazon's own login module wants it: the role's credentials, no secret in any option."""


def kafka_connection(arguments: JobArguments) -> dict[str, str]:
    """The options by which Spark reaches Kafka: Kafka's own, each behind ``kafka.``."""
    servers = {"kafka.bootstrap.servers": arguments.kafka_bootstrap_servers}
    return servers | (_IAM if arguments.kafka_security is KafkaSecurity.IAM else {})
