"""What flow activation needs to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clients.environment import count_setting, text_setting
from clients.kafka.security import kafka_security_setting
from fleetlane.events.job_arguments import KafkaSecurity


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where flows and topics are; how many partitions and replicas a new topic gets."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    flows_bucket: str
    topic_partitions: int
    topic_replication: int


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises:
        BadSettingError: One is missing or not allowed.
    """
    return Settings(
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        flows_bucket=text_setting(environ, "FLOWS_BUCKET"),
        topic_partitions=count_setting(environ, "TOPIC_PARTITIONS"),
        topic_replication=count_setting(environ, "TOPIC_REPLICATION"),
    )


def settings() -> Settings:
    return settings_from(os.environ)
