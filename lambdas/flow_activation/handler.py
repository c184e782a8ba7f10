"""What is called to put into force what owners of flows want: ``{"owners": ["..."]}``.

No event says which version: whoever may call could bring another owner's flows back by it.

A deploy calls too, through CDK's provider framework, for the repository's own flows: with an event
of CloudFormation's, to which a version is what identifies the resource.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, s3_client
from clients.environment import read_settings
from clients.kafka.topics import KafkaTopics
from fleetlane.events.job_arguments import KafkaSecurity
from lambdas.flow_activation.service import Activation, FlowsRefusedError, activate_owners

logger = Logger(service="flow_activation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where flows and topics are; what a new topic gets, and all may have."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity = KafkaSecurity.IAM
    flows_bucket: str
    topic_partitions: int
    topic_replication: int
    replicas_max: int


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Activate what the owners want; errors go to the caller as they are."""
    return answer(event, _activate)


def answer(
    event: Mapping[str, Any], activated: Callable[[Sequence[str]], Activation]
) -> dict[str, Any]:
    """Have what the owners want activated, and answer as the caller understands it.

    When a deploy deletes its stack, or is done with the version before, what is in force stays. An
    event that names no owners, as an older release's, is a ``FlowsRefusedError``.
    """
    match event:
        case {"RequestType": "Delete"}:
            return {}
        case {"RequestType": "Create" | "Update", "ResourceProperties": {"owners": [*owners]}}:
            return {"PhysicalResourceId": activated(owners).version}
        case {"owners": [*owners]} if owners:
            return dataclasses.asdict(activated(owners))
        case _:
            problem = "the request names no owners; who publishes needs this release's commands"
            raise FlowsRefusedError(str(event.get("version", "(none)"))[:80], problem)


def _activate(owners: Sequence[str]) -> Activation:
    activation = _activating()(owners)
    logger.info("activated", extra=dataclasses.asdict(activation))
    return activation


@cache
def _activating() -> partial[Activation]:
    ours, s3 = read_settings(Settings), s3_client(AwsSettings())
    topics = KafkaTopics(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        partitions=ours.topic_partitions,
        replication=ours.topic_replication,
        replicas_max=ours.replicas_max,
        security=ours.kafka_security,
    )
    return partial(activate_owners, s3=s3, bucket=ours.flows_bucket, topics=topics)
