"""Puts flows into force on this machine, by the service that the function runs in AWS.

With the example's parsers, built and deployed as any team's are.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from clients.aws import AwsSettings, s3_client
from clients.flows.parser_store import ParserStore
from clients.kafka.topics import KafkaTopics
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import FlowSet
from fleetlane.parsers.artifacts.building import Platform, uv_for, write_built
from lambdas.flow_activation.service import activate_owners
from local.checkout import ROOT, UV
from operations.endpoints import FLOWS_BUCKET
from operations.flows.publisher import Activates, FlowPublisher

EXAMPLE: Final = ROOT / "examples" / "acme-sensors"
OWNER: Final = "acme-sensors"
PARTITIONS: Final = 2


def example_artifact(folder: Path) -> Path:
    """Build the example's artifact into ``folder``; a second or two, without the network."""
    return write_built(uv_for(EXAMPLE, UV if UV.is_file() else None), Platform.HOST, folder)


def deploy_example(store: ParserStore) -> None:
    """Build the example's artifact and deploy it for its owner; raises as ``store.deploy``."""
    with tempfile.TemporaryDirectory() as folder:
        store.deploy(example_artifact(Path(folder)), owner=OWNER)


def activation_here(aws: AwsSettings, bootstrap_servers: str) -> Activates:
    """Activate in this very process; nothing is opened before the first call."""

    def put_into_force(owners: Sequence[str]) -> str:
        s3 = s3_client(aws)
        topics = KafkaTopics(
            bootstrap_servers=bootstrap_servers, partitions=PARTITIONS, replication=1
        )
        return activate_owners(owners, s3=s3, bucket=FLOWS_BUCKET, topics=topics).version

    return put_into_force


def publish_new_flows(flows: FlowSet, publisher: FlowPublisher) -> FlowSet:
    """Put flows into force, unless they were before: what was published since then stays.

    Returns the flows that are in force.
    """
    wanted = PublishedFlows.of(flows.values(), publisher.found_artifacts(flows.values()))
    if wanted.version in publisher.flows.history():
        return publisher.current().by_stream
    publisher.publish(flows.values())
    return flows
