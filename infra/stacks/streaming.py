"""Kafka: an Amazon MSK cluster with its topics, and the exact rights to use them."""

import base64
import json
from typing import Final

from aws_cdk import aws_kms as kms
from aws_cdk import aws_msk as msk
from aws_cdk import custom_resources as custom
from constructs import Construct

from fleetlane.events.topics import partitions_of, platform_topics, topic_settings
from infra.constructs.kafka.access import KafkaAccess, KafkaEndpoint
from infra.constructs.network import PrivateNetwork
from infra.constructs.platform_stack import PlatformStack, log_group, vended_log_group
from infra.constructs.rights import BASIC_LAMBDA_POLICY, suppress
from infra.stages import Stage

_BY_CDK = "CDK's own function for one call of an API while deploying; it is not called in between."

KAFKA_VERSION: Final = "3.9.x.kraft"
"""Topics as resources need 3.6 or later; the jobs' client is 3.9."""

BROKER_SETTINGS: Final = """\
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
unclean.leader.election.enable=false"""


class Streaming(PlatformStack):
    """The cluster, its topics, and where clients with IAM reach it."""

    def __init__(
        self, scope: Construct, *, stage: Stage, network: PrivateNetwork, key: kms.Key
    ) -> None:
        described = "Kafka and its topics"
        super().__init__(scope, "streaming", stage=stage, description=described, holds_data=True)
        self.cluster_name = f"fleetlane-{stage.name}"
        self.network = network
        self._arn = self._cluster(network, key).attr_arn
        for topic in platform_topics():
            self._add_topic(topic)
        self.access = KafkaAccess(self, cluster_arn=self._arn)
        self.kafka = KafkaEndpoint(bootstrap_servers=self._bootstrap_servers(), access=self.access)

    def _cluster(self, network: PrivateNetwork, key: kms.Key) -> msk.CfnCluster:
        """Clients prove who they are by IAM alone."""
        configuration = msk.CfnConfiguration(
            self, "Configuration", name=self.cluster_name, server_properties=BROKER_SETTINGS
        )
        logs = vended_log_group(self, "BrokerLogs").log_group_name
        cluster = msk.CfnCluster(
            self,
            "Cluster",
            cluster_name=self.cluster_name,
            kafka_version=KAFKA_VERSION,
            number_of_broker_nodes=self.stage.broker_count,
            broker_node_group_info={
                "instanceType": f"kafka.{self.stage.broker_type}",
                "clientSubnets": [subnet.subnet_id for subnet in network.subnets],
                "securityGroups": [network.brokers_group.security_group_id],
                "storageInfo": {"ebsStorageInfo": {"volumeSize": self.stage.broker_storage_gib}},
            },
            client_authentication={
                "sasl": {"iam": {"enabled": True}},
                "unauthenticated": {"enabled": False},
            },
            encryption_info={
                "encryptionAtRest": {"dataVolumeKmsKeyId": key.key_arn},
                "encryptionInTransit": {"clientBroker": "TLS", "inCluster": True},
            },
            configuration_info={
                "arn": configuration.attr_arn,
                "revision": configuration.attr_latest_revision_revision,
            },
            enhanced_monitoring="PER_BROKER",
            logging_info={"brokerLogs": {"cloudWatchLogs": {"enabled": True, "logGroup": logs}}},
        )
        cluster.apply_removal_policy(self.removal)
        return cluster

    def _bootstrap_servers(self) -> str:
        """CloudFormation does not give the brokers' addresses: who makes them asks MSK."""
        scope, with_iam = Construct(self, "BootstrapServers"), "BootstrapBrokerStringSaslIam"
        call = custom.AwsSdkCall(
            service="Kafka",
            action="getBootstrapBrokers",
            parameters={"ClusterArn": self._arn},
            physical_resource_id=custom.PhysicalResourceId.of("bootstrap-servers"),
            output_paths=[with_iam],
        )
        asked = custom.AwsCustomResource(
            scope,
            "Asked",
            on_update=call,
            install_latest_aws_sdk=False,
            log_group=log_group(scope, "Logs"),
            policy=custom.AwsCustomResourcePolicy.from_sdk_calls(resources=[self._arn]),
        )
        singleton = custom.AwsCustomResource.PROVIDER_FUNCTION_UUID.replace("-", "")
        function = self.node.find_child(f"AWS{singleton}")
        suppress(function, _BY_CDK, "L1", BASIC_LAMBDA_POLICY)
        return asked.get_response_field(with_iam)

    def _add_topic(self, topic: str) -> None:
        """MSK wants a topic's settings as JSON in Base64. More partitions later: a new number."""
        settings = json.dumps(topic_settings(topic).kafka_configuration(), sort_keys=True)
        resource = msk.CfnTopic(
            self,
            f"Topic-{topic}",
            cluster_arn=self._arn,
            topic_name=topic,
            partition_count=partitions_of(topic, self.stage.topic_partitions),
            replication_factor=self.stage.topic_replication,
            configs=base64.b64encode(settings.encode()).decode(),
        )
        resource.apply_removal_policy(self.removal)
