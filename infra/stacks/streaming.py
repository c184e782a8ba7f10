"""Kafka: an Amazon MSK cluster with its topics, and the exact rights to use them."""

import base64
import json
from dataclasses import dataclass
from typing import Final

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_msk as msk
from constructs import Construct

from fleetlane.events.topics import platform_topics, topic_settings
from infra.constructs.kafka.access import KafkaAccess
from infra.constructs.kafka.bootstrap_servers import BootstrapServers
from infra.constructs.log_retention import retention_of
from infra.stacks.network import Network
from infra.stages import Stage

KAFKA_VERSION: Final = "3.9.x.kraft"
"""Topics as resources need 3.6 or later; the jobs' client is 3.9."""

BROKER_SETTINGS: Final = (
    "auto.create.topics.enable=false",
    "default.replication.factor=3",
    "min.insync.replicas=2",
    "unclean.leader.election.enable=false",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingProps:
    """What differs between stages."""

    cluster_name: str
    broker_type: str | None
    broker_count: int
    broker_storage_gib: int
    topic_partitions: int
    topic_replication: int
    keeps_data: bool
    log_retention_days: int

    @classmethod
    def of(cls, stage: Stage) -> "StreamingProps":
        return cls(
            cluster_name=f"fleetlane-{stage.name}",
            broker_type=stage.broker_type,
            broker_count=stage.broker_count,
            broker_storage_gib=stage.broker_storage_gib,
            topic_partitions=stage.topic_partitions,
            topic_replication=stage.topic_replication,
            keeps_data=stage.keeps_data,
            log_retention_days=stage.log_retention_days,
        )


class Streaming(Stack):
    """The cluster. ``bootstrap_servers`` are those for IAM; ``access`` grants rights on topics."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        props: StreamingProps,
        network: Network,
        key: kms.IKey | None,
        region: str,
    ) -> None:
        super().__init__(
            scope,
            name,
            env={"region": region},
            termination_protection=props.keeps_data,
            description="Fleetlane: Kafka and its topics",
        )
        self._props = props
        self.network = network
        self.cluster = self._cluster(network, key)
        for topic in platform_topics():
            self._add_topic(topic)
        self.access = KafkaAccess(self, cluster_arn=self.cluster.attr_arn)
        self.bootstrap_servers = BootstrapServers(
            self,
            "BootstrapServers",
            cluster_arn=self.cluster.attr_arn,
            log_retention_days=props.log_retention_days,
        ).with_iam
        CfnOutput(self, "BootstrapServersWithIam", value=self.bootstrap_servers)

    @property
    def cluster_name(self) -> str:
        return self._props.cluster_name

    @property
    def broker_count(self) -> int:
        return self._props.broker_count

    def _cluster(self, network: Network, key: kms.IKey | None) -> msk.CfnCluster:
        props = self._props
        cluster = msk.CfnCluster(
            self,
            "Cluster",
            cluster_name=props.cluster_name,
            kafka_version=KAFKA_VERSION,
            number_of_broker_nodes=props.broker_count,
            broker_node_group_info=self._brokers(network),
            client_authentication=_iam_alone(),
            encryption_info=_encrypted(key),
            configuration_info=self._configuration(),
            enhanced_monitoring="PER_TOPIC_PER_BROKER",
            logging_info=self._logging(),
        )
        cluster.apply_removal_policy(self._removal)
        return cluster

    @property
    def _removal(self) -> RemovalPolicy:
        return RemovalPolicy.RETAIN if self._props.keeps_data else RemovalPolicy.DESTROY

    def _brokers(self, network: Network) -> msk.CfnCluster.BrokerNodeGroupInfoProperty:
        broker_type = self._props.broker_type
        assert broker_type is not None, "a stage in AWS has brokers"
        return msk.CfnCluster.BrokerNodeGroupInfoProperty(
            instance_type=f"kafka.{broker_type}",
            client_subnets=[subnet.subnet_id for subnet in network.subnets],
            security_groups=[network.brokers_group.security_group_id],
            storage_info=msk.CfnCluster.StorageInfoProperty(
                ebs_storage_info=msk.CfnCluster.EBSStorageInfoProperty(
                    volume_size=self._props.broker_storage_gib
                )
            ),
        )

    def _configuration(self) -> msk.CfnCluster.ConfigurationInfoProperty:
        configuration = msk.CfnConfiguration(
            self,
            "Configuration",
            name=self._props.cluster_name,
            server_properties="\n".join(BROKER_SETTINGS),
        )
        return msk.CfnCluster.ConfigurationInfoProperty(
            arn=configuration.attr_arn,
            revision=configuration.attr_latest_revision_revision,
        )

    def _logging(self) -> msk.CfnCluster.LoggingInfoProperty:
        group = logs.LogGroup(
            self,
            "BrokerLogs",
            retention=retention_of(self._props.log_retention_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        to_group = msk.CfnCluster.CloudWatchLogsProperty(
            enabled=True, log_group=group.log_group_name
        )
        return msk.CfnCluster.LoggingInfoProperty(
            broker_logs=msk.CfnCluster.BrokerLogsProperty(cloud_watch_logs=to_group)
        )

    def _add_topic(self, topic: str) -> None:
        """MSK wants a topic's settings as JSON in Base64. More partitions later: a new number."""
        settings = json.dumps(topic_settings(topic).kafka_configuration(), sort_keys=True)
        resource = msk.CfnTopic(
            self,
            f"Topic-{topic}",
            cluster_arn=self.cluster.attr_arn,
            topic_name=topic,
            partition_count=self._props.topic_partitions,
            replication_factor=self._props.topic_replication,
            configs=base64.b64encode(settings.encode()).decode(),
        )
        resource.apply_removal_policy(self._removal)


def _iam_alone() -> msk.CfnCluster.ClientAuthenticationProperty:
    return msk.CfnCluster.ClientAuthenticationProperty(
        sasl=msk.CfnCluster.SaslProperty(iam=msk.CfnCluster.IamProperty(enabled=True)),
        unauthenticated=msk.CfnCluster.UnauthenticatedProperty(enabled=False),
    )


def _encrypted(key: kms.IKey | None) -> msk.CfnCluster.EncryptionInfoProperty:
    assert key is not None, "a stage in AWS has a key of its own"
    return msk.CfnCluster.EncryptionInfoProperty(
        encryption_at_rest=msk.CfnCluster.EncryptionAtRestProperty(
            data_volume_kms_key_id=key.key_arn
        ),
        encryption_in_transit=msk.CfnCluster.EncryptionInTransitProperty(
            client_broker="TLS", in_cluster=True
        ),
    )
