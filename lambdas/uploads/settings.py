"""What issuing and landing uploads need to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clients.environment import count_setting, text_setting
from clients.kafka_security import kafka_security_setting
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX

EXPIRES_S: Final = 15 * 60
SWEEP_AFTER_S: Final = 15 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuingSettings:
    """Where bodies go, the largest that is taken, and how long a form may be used."""

    payload_bucket: str
    flows_bucket: str
    upload_bytes_max: int = PAYLOAD_BYTES_MAX
    expires_s: int = EXPIRES_S


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingSettings:
    """Where bodies are, where messages go, and how old the sweep lets an upload grow first."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    payload_bucket: str
    flows_bucket: str
    sweep_after_s: int = SWEEP_AFTER_S


def issuing_settings_from(environ: Mapping[str, str]) -> IssuingSettings:
    """Read the settings; raises ``BadSettingError``."""
    return IssuingSettings(
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        flows_bucket=text_setting(environ, "FLOWS_BUCKET"),
        upload_bytes_max=count_setting(environ, "UPLOAD_BYTES_MAX", default=PAYLOAD_BYTES_MAX),
        expires_s=count_setting(environ, "UPLOAD_EXPIRES_S", default=EXPIRES_S),
    )


def landing_settings_from(environ: Mapping[str, str]) -> LandingSettings:
    """Read the settings; raises ``BadSettingError``."""
    return LandingSettings(
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        flows_bucket=text_setting(environ, "FLOWS_BUCKET"),
        sweep_after_s=count_setting(environ, "SWEEP_AFTER_S", default=SWEEP_AFTER_S),
    )


def issuing_settings() -> IssuingSettings:
    return issuing_settings_from(os.environ)


def landing_settings() -> LandingSettings:
    return landing_settings_from(os.environ)
