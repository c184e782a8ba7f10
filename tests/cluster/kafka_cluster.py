"""Three Kafka brokers with a quorum of controllers, in the place of a laptop's one."""

import base64
import json
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from confluent_kafka.admin import AdminClient

from clients.kafka.topics import KafkaTopics
from local.servers.kafka import KafkaBroker
from local.servers.ports import remembered_port
from tests.e2e.fault_proxy import FaultProxy

BROKERS: Final = 3
PARTITIONS: Final = 2
_MAJORITY: Final = 2
_REPLICATED: Final = (
    "default",
    "offsets.topic",
    "transaction.state.log",
    "share.coordinator.state.topic",
)


class ClusterBroker(KafkaBroker):
    """One of them; ``node_id`` counts from 1.

    Clients of ``JOBS``, a listener of its own, reach it by way of ``proxy``, which can be cut.
    Whoever starts the broker has entered the proxy.
    """

    def __init__(
        self, folder: Path, *, jars: Path, node_id: int, voters: str, cluster_id: str
    ) -> None:
        self.node_id, self._voters, self._of_cluster = node_id, voters, cluster_id
        super().__init__(folder, jars=jars)
        self._jobs_port = remembered_port(folder / "jobs_port.json")
        self.name = f"Kafka, broker {node_id}"
        self.proxy = FaultProxy(lambda: f"http://127.0.0.1:{self._jobs_port}")

    @property
    def proxied_servers(self) -> str:
        """``host:port`` for clients that may lose it, once its proxy was entered."""
        return urlsplit(self.proxy.url).netloc

    def _new_cluster_id(self) -> str:
        return self._of_cluster

    def quorum_state(self) -> dict[str, int]:
        """What it knows of the election: ``leaderId`` and ``leaderEpoch`` among it."""
        found: dict[str, int] = json.loads(
            (self._data / "__cluster_metadata-0" / "quorum-state").read_text()
        )
        return found

    def _settings(self, controller_port: int) -> dict[str, str]:
        settings = super()._settings(controller_port)
        protocols = settings["listener.security.protocol.map"]
        return {
            **settings,
            "listeners": f"{settings['listeners']},JOBS://127.0.0.1:{self._jobs_port}",
            "advertised.listeners": (
                f"PLAINTEXT://{self.bootstrap_servers},JOBS://{self.proxied_servers}"
            ),
            "listener.security.protocol.map": f"{protocols},JOBS:PLAINTEXT",
            "node.id": str(self.node_id),
            "controller.quorum.voters": self._voters,
            "min.insync.replicas": str(_MAJORITY),
            "transaction.state.log.min.isr": str(_MAJORITY),
            "share.coordinator.state.topic.min.isr": str(_MAJORITY),
            **{f"{name}.replication.factor": str(BROKERS) for name in _REPLICATED},
            # A broker that is killed is missed within seconds, as a laptop's is.
            "controller.quorum.election.timeout.ms": "1000",
            "controller.quorum.fetch.timeout.ms": "2000",
            "replica.lag.time.max.ms": "5000",
        }


class KafkaCluster(KafkaBroker):
    """All of them, started and stopped as one; ``brokers`` are for tests that end one.

    Topics are made at the first start, each with a replica on each broker.
    """

    def __init__(self, folder: Path, *, jars: Path, topics: Iterable[str]) -> None:
        super().__init__(folder, jars=jars)
        self._topics = tuple(topics)
        folders = [folder / f"broker-{number}" for number in range(1, BROKERS + 1)]
        for one in folders:
            one.mkdir(parents=True)
        ports = [remembered_port(one / "controller_port.json") for one in folders]
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(ports, start=1))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.brokers = [
            ClusterBroker(one, jars=jars, node_id=n, voters=voters, cluster_id=cluster_id)
            for n, one in enumerate(folders, start=1)
        ]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(one.bootstrap_servers for one in self.brokers)

    @property
    def proxied_servers(self) -> str:
        return ",".join(one.proxied_servers for one in self.brokers)

    def start(self) -> None:
        """Start those that do not run; one alone becomes ready only where another is there."""
        with ThreadPoolExecutor(BROKERS) as pool:
            list(
                pool.map(methodcaller("start"), [one for one in self.brokers if not one.is_alive()])
            )
        topics = KafkaTopics(
            bootstrap_servers=self.bootstrap_servers, partitions=PARTITIONS, replication=BROKERS
        )
        topics.create_missing(self._topics)

    def stop(self) -> int | None:
        with ThreadPoolExecutor(BROKERS) as pool:
            list(pool.map(methodcaller("stop"), self.brokers))
        return None

    def is_alive(self) -> bool:
        return all(one.is_alive() for one in self.brokers)

    def log_tail(self, lines_max: int = 20) -> str:
        return "\n".join(one.log_tail(lines_max) for one in self.brokers)

    def controller(self) -> ClusterBroker:
        """The one whose controller is the quorum's leader: a broker that is asked names any."""
        states = [one.quorum_state() for one in self.brokers]
        leader = max(states, key=lambda state: state["leaderEpoch"])["leaderId"]
        return next(one for one in self.brokers if one.node_id == leader)

    def follower(self) -> ClusterBroker:
        """One that is not the controller."""
        controller = self.controller()
        return next(one for one in self.brokers if one is not controller)

    def under_replicated(self) -> int:
        """Partitions that a broker is missing from; a rolling restart waits for none."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        topics = admin.list_topics(timeout=10).topics.values()
        partitions = [one for topic in topics for one in topic.partitions.values()]
        return sum(len(one.isrs) < len(one.replicas) for one in partitions)
