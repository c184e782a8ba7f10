"""What is called to put a published version of the flows into force: ``{"version": "..."}``.

With ``"in_place_of"`` it is refused where another version than this one is in force by now.

A deploy calls too, through CDK's provider framework, for the repository's own flows: with an event
of CloudFormation's, to which a version is what identifies the resource.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, s3_client
from clients.environment import read_settings
from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import KafkaSecurity
from lambdas.flow_activation.service import Activation, activate

logger = Logger(service="flow_activation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where flows and topics are; how many partitions and replicas a new topic gets."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    flows_bucket: str
    topic_partitions: int
    topic_replication: int


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Activate the version; errors go to the caller as they are."""
    return answer(event, _activate)


def answer(
    event: Mapping[str, Any], activated: Callable[[str, str | None], Activation]
) -> dict[str, Any]:
    """Have the version activated, and answer as the caller understands it.

    When a deploy deletes its stack, or is done with the version before, what is in force stays.
    """
    match event:
        case {"RequestType": "Delete"}:
            return {}
        case {"RequestType": "Create" | "Update", "ResourceProperties": {"version": version}}:
            return {"PhysicalResourceId": activated(version, None).version}
        case _:
            return dataclasses.asdict(activated(event["version"], event.get("in_place_of")))


def _activate(version: str, in_place_of: str | None) -> Activation:
    activation = _activating()(version, in_place_of=in_place_of)
    logger.info("activated", extra=dataclasses.asdict(activation))
    return activation


@cache
def _activating() -> partial[Activation]:
    ours, s3 = read_settings(Settings), s3_client(AwsSettings())
    topics = KafkaTopics(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        partitions=ours.topic_partitions,
        replication=ours.topic_replication,
        security=ours.kafka_security,
    )
    store, artifacts = FlowStore(s3, ours.flows_bucket), ParserStore(s3, ours.flows_bucket)
    return partial(activate, store=store, topics=topics, artifacts=artifacts)
