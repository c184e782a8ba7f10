"""What respool needs to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clients.environment import text_setting
from clients.kafka.security import kafka_security_setting
from fleetlane.events.job_arguments import KafkaSecurity


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """From where to where."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    spool_bucket: str


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises:
        BadSettingError: One is missing or not allowed.
    """
    return Settings(
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        spool_bucket=text_setting(environ, "SPOOL_BUCKET"),
    )


def settings() -> Settings:
    return settings_from(os.environ)
