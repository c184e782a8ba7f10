"""Creating the topics that are missing; what exists is left as it is."""

import math
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from clients.kafka.security import security_configuration
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.topics import partitions_of, topic_settings

_POLL_INTERVAL_S: Final = 0.1


class TopicsNotCreatedError(FleetlaneError):
    """Topics are still missing. Creating them again is safe."""

    topics: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"topics are missing ({', '.join(self.topics)}): {self.problem}"


class KafkaTopics:
    """The topics of one Kafka cluster."""

    def __init__(
        self,
        *,
        bootstrap_servers: str,
        partitions: int,
        replication: int,
        replicas_max: float = math.inf,
        security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
    ) -> None:
        """Describe them, and what a new one gets; nothing is asked of the broker yet.

        All partitions of the cluster have ``replicas_max`` replicas together.
        """
        self._partitions, self._replication = partitions, replication
        self._replicas_max = replicas_max
        # Kept: the results of its calls never come once it is gone.
        self._admin = AdminClient(
            {
                "bootstrap.servers": bootstrap_servers,
                "socket.timeout.ms": 5_000,
                "socket.connection.setup.timeout.ms": 1_000,
                "log_level": 0,
                **security_configuration(security),
            }
        )

    def create_missing(self, topics: Iterable[str], *, timeout_s: float = 30.0) -> tuple[str, ...]:
        """Create those of ``topics`` that are missing, and return their names, sorted.

        Each gets the retention and the limits of its kind. Returns when all of ``topics`` can be
        written to; blocks for at most about ``timeout_s``. Raises ``TopicsNotCreatedError``.
        """
        deadline_s = time.monotonic() + timeout_s
        missing = self._missing(tuple(sorted(set(topics))), timeout_s)
        if not missing:
            return ()
        self._check_room(missing, timeout_s)
        self._create(missing, timeout_s)
        while left := self._missing(missing, max(deadline_s - time.monotonic(), _POLL_INTERVAL_S)):
            if time.monotonic() >= deadline_s:
                raise TopicsNotCreatedError(left, "no leader in time")
            time.sleep(_POLL_INTERVAL_S)
        return missing

    def _missing(self, topics: tuple[str, ...], timeout_s: float) -> tuple[str, ...]:
        """Those that cannot be written to, as yet."""
        usable = {
            name
            for name, topic in self._found(topics, timeout_s).items()
            if topic.partitions and all(one.leader >= 0 for one in topic.partitions.values())
        }
        return tuple(topic for topic in topics if topic not in usable)

    def _found(self, topics: tuple[str, ...], timeout_s: float) -> dict[str, Any]:
        try:
            return dict(self._admin.list_topics(timeout=timeout_s).topics)
        except KafkaException as problem:
            raise TopicsNotCreatedError(topics, str(problem)) from problem

    def _check_room(self, topics: tuple[str, ...], timeout_s: float) -> None:
        found = self._found(topics, timeout_s).values()
        there = sum(len(one.replicas) for topic in found for one in topic.partitions.values())
        needed = self._replication * sum(partitions_of(one, self._partitions) for one in topics)
        if there + needed > self._replicas_max:
            of = f"{there} replicas of partitions are there, {needed} more are needed"
            raise TopicsNotCreatedError(topics, f"{of}; the limit is {self._replicas_max}")

    def _create(self, topics: tuple[str, ...], timeout_s: float) -> None:
        futures: Mapping[str, Future[None]] = self._admin.create_topics(
            [
                NewTopic(
                    topic,
                    num_partitions=partitions_of(topic, self._partitions),
                    replication_factor=self._replication,
                    config=topic_settings(topic).kafka_configuration(),
                )
                for topic in topics
            ],
            operation_timeout=timeout_s,
            request_timeout=timeout_s,
        )
        refused = {}
        for topic, future in futures.items():
            try:
                future.result()
            except KafkaException as problem:
                error = problem.args[0]
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    refused[topic] = error.str()
        if refused:
            raise TopicsNotCreatedError(tuple(refused), "; ".join(sorted(set(refused.values()))))
