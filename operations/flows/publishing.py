"""Flows into force on this machine, by the same function that a published version passes in AWS."""

from typing import TYPE_CHECKING, Final

import boto3

from clients.aws import AwsSettings, s3_client
from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore
from clients.kafka.topics import KafkaTopics
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import FlowSet
from lambdas.flow_activation.service import activate
from local.spark.jobs import FLOWS_MAX_AGE_S
from operations.aws_settings import client_settings_at
from operations.endpoints import Endpoints
from operations.flows.activation_call import activation_call
from operations.flows.publisher import FlowPublisher

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FLOWS_BUCKET: Final = "fleetlane-flows"
PARTITIONS: Final = 2


def local_publisher(s3: "S3Client", bootstrap_servers: str) -> FlowPublisher:
    """Publish to this machine's platform."""
    flows, parsers = FlowStore(s3, FLOWS_BUCKET), ParserStore(s3, FLOWS_BUCKET)
    topics = KafkaTopics(bootstrap_servers=bootstrap_servers, partitions=PARTITIONS, replication=1)

    def put_into_force(version: str, in_place_of: str | None) -> object:
        return activate(
            version, store=flows, topics=topics, artifacts=parsers, in_place_of=in_place_of
        )

    return FlowPublisher(flows, parsers, put_into_force, flows_max_age_s=FLOWS_MAX_AGE_S)


def publisher_at(endpoints: Endpoints) -> FlowPublisher:
    """Publish to the platform that answers there."""
    s3 = boto3.client("s3", **client_settings_at(endpoints.s3))
    return local_publisher(s3, endpoints.kafka)


def stage_publisher(bucket: str, function: str) -> FlowPublisher:
    """Publish to a stage in AWS, with the credentials of the environment."""
    s3 = s3_client(AwsSettings())
    return FlowPublisher(FlowStore(s3, bucket), ParserStore(s3, bucket), activation_call(function))


def publish_news(flows: FlowSet, publisher: FlowPublisher) -> FlowSet:
    """Put flows into force, unless they were before: what was published since then stays.

    Returns the flows that are in force.

    Raises:
        FleetlaneError: A parser is not deployed, or a topic could not be made.
    """
    current = publisher.current()
    wanted = PublishedFlows.of(flows.values(), publisher.found_artifacts(flows.values()))
    if current is not None and wanted.version in (current.version, *current.before):
        return current.by_stream
    publisher.publish(flows.values())
    return flows
