"""Flows from files into force, by the same function that a published version passes in AWS."""

from typing import TYPE_CHECKING, Final

from clients.flow_store import FlowStore
from clients.kafka_topics import KafkaTopics
from fleetlane.events.flows import FlowSet
from lambdas.flow_activation.service import activate
from local.team_parsers import check_parsers

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PARTITIONS: Final = 2


def publish_flows(flows: FlowSet, s3: "S3Client", bucket: str, bootstrap_servers: str) -> None:
    """Check, publish and activate the flows: their topics exist when this returns.

    Raises:
        FleetlaneError: A parser is missing or refuses its options, or a topic could not be made.
    """
    check_parsers(flows)
    store = FlowStore(s3, bucket)
    topics = KafkaTopics(bootstrap_servers=bootstrap_servers, partitions=PARTITIONS, replication=1)
    activate(store.publish(flows.values()), store=store, topics=topics)
