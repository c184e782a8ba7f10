"""Where Kafka is, and what a role may do with which topics, and no more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Aws, Fn, Stack
from aws_cdk import aws_iam as iam

from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.topics import MIRRORED_GROUPS, PARKED, mirrored_group
from infra.constructs.rights import grant, suppress_wildcard

RAW_TOPICS: Final = "raw.*"
BLOCKING_TOPICS: Final = "raw.*.block.*"
CANONICAL_TOPICS: Final = "canonical.*"
UNIQUE_TOPICS: Final = "unique.*"
FLEET_TOPICS: Final = "fleet.*"

_CONNECT: Final = ("kafka-cluster:Connect", "kafka-cluster:DescribeCluster")
_WRITE: Final = ("kafka-cluster:DescribeTopic", "kafka-cluster:WriteData")
_READ: Final = ("kafka-cluster:DescribeTopic", "kafka-cluster:ReadData")
_CREATE: Final = ("kafka-cluster:DescribeTopic", "kafka-cluster:CreateTopic")
_SEE: Final = ("kafka-cluster:DescribeTopic",)
_GROUP: Final = ("kafka-cluster:DescribeGroup", "kafka-cluster:AlterGroup")
_NEW_TOPICS: Final = "Flows bring topics of their own, under this prefix, without a deploy."
_OUR_TOPICS: Final = "The platform's own topics, which all have this prefix, are only described."
_QUERIES_GROUPS: Final = "Each query has a group of its own; blocking flows bring more queries."
_SPARK_GROUPS: Final = "Spark chooses the rest of a query's group name at every start."


class KafkaAccess:
    """Grants on one cluster. A topic that ends in ``*`` means all with that prefix."""

    def __init__(self, owner: Stack, *, cluster_arn: str) -> None:
        self._cluster_arn = cluster_arn
        within = Fn.select(1, Fn.split(":cluster/", cluster_arn))
        start = f"arn:{Aws.PARTITION}:kafka:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        self._exported = {kind: f"{owner.stack_name}:{kind}-arns" for kind in ("topic", "group")}
        self._arns = {
            kind: owner.export_value(f"{start}:{kind}/{within}", name=name)
            for kind, name in self._exported.items()
        }

    def grant_write(self, role: iam.Role, topics: Sequence[str]) -> None:
        grant(role, (*_CONNECT, "kafka-cluster:WriteDataIdempotently"), [self._cluster_arn])
        self._on("topic", role, topics, _WRITE, why=_NEW_TOPICS)

    def grant_read(
        self, role: iam.Role, topics: Sequence[str], *, joins_groups: bool = True
    ) -> None:
        """Let ``role`` read topics; Spark joins a group for it, and nothing else does."""
        grant(role, _CONNECT, [self._cluster_arn])
        self._on("topic", role, topics, _READ, why=_NEW_TOPICS)
        if joins_groups:
            self._on("group", role, ("spark-kafka-source-*",), _GROUP, why=_SPARK_GROUPS)

    def grant_see(self, role: iam.Role, topics: Sequence[str]) -> None:
        """Let ``role`` see where topics begin and end, and read nothing of them."""
        self._on("topic", role, topics, _SEE, why=_NEW_TOPICS)

    def grant_mirror(self, role: iam.Role, queries: Sequence[str]) -> None:
        """Let ``role`` commit to Kafka how far its queries have read, for Kafka's own tools."""
        groups = [f"{mirrored_group(query)}*" for query in queries]
        self._on("group", role, groups, _GROUP, why=_QUERIES_GROUPS)

    def grant_see_mirrored(self, role: iam.Role) -> None:
        """Let ``role`` see how far all queries have read."""
        groups = (f"{MIRRORED_GROUPS}*",)
        self._on("group", role, groups, ("kafka-cluster:DescribeGroup",), why=_QUERIES_GROUPS)

    def grant_create(self, role: iam.Role, topics: Sequence[str]) -> None:
        """Let ``role`` create topics, and see which there are; never change or delete one."""
        grant(role, _CONNECT, [self._cluster_arn])
        self._on("topic", role, topics, _CREATE, why=_NEW_TOPICS)
        self._on("topic", role, (FLEET_TOPICS, PARKED), _SEE, why=_OUR_TOPICS)

    def _on(
        self, kind: str, role: iam.Role, names: Sequence[str], actions: Sequence[str], *, why: str
    ) -> None:
        grant(role, actions, [f"{self._arns[kind]}/{name}" for name in names])
        for name in names:
            if "*" in name:
                suppress_wildcard(role, f"{self._exported[kind]}/{name}", why)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaEndpoint:
    """``access`` is ``None`` where anybody on the machine may use it."""

    bootstrap_servers: str
    access: KafkaAccess | None

    @property
    def security(self) -> KafkaSecurity:
        return KafkaSecurity.PLAINTEXT if self.access is None else KafkaSecurity.IAM

    @property
    def settings(self) -> Mapping[str, str]:
        return {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers, "KAFKA_SECURITY": self.security}

    def grant_write(self, role: iam.Role, topics: Sequence[str]) -> None:
        """Let ``role`` write, where rights are needed at all."""
        if self.access is not None:
            self.access.grant_write(role, topics)
