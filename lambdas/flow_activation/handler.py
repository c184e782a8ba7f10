"""What is called to put a published version of the flows into force: ``{"version": "..."}``."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, s3_client
from clients.flow_store import FlowStore
from clients.kafka_topics import KafkaTopics
from lambdas.flow_activation.service import activate
from lambdas.flow_activation.settings import settings

logger = Logger(service="flow_activation")


def handle(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Activate the version; errors go to the caller as they are."""
    activation = activate(event["version"], store=_store(), topics=_topics())
    answer = dataclasses.asdict(activation)
    logger.info("activated", extra=answer)
    return answer


@cache
def _store() -> FlowStore:
    return FlowStore(s3_client(AwsSettings()), settings().flows_bucket)


@cache
def _topics() -> KafkaTopics:
    ours = settings()
    return KafkaTopics(
        bootstrap_servers=ours.kafka_bootstrap_servers,
        partitions=ours.topic_partitions,
        replication=ours.topic_replication,
        security=ours.kafka_security,
    )
