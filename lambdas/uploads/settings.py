"""What issuing and landing uploads need to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clients.environment import count_setting, text_setting
from clients.kafka.security import kafka_security_setting
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S, KafkaSecurity
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX
from lambdas.http.dependencies import DeviceSettings, device_settings_from

SWEEP_AFTER_S: Final = 15 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuingSettings:
    """Where bodies go, and the largest that is taken."""

    devices: DeviceSettings
    payload_bucket: str
    upload_bytes_max: int = PAYLOAD_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingSettings:
    """Where bodies are, where messages go, and how old the sweep lets an upload grow first."""

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    payload_bucket: str
    flows_bucket: str
    flows_max_age_s: int = FLOWS_MAX_AGE_S
    sweep_after_s: int = SWEEP_AFTER_S


def issuing_settings_from(environ: Mapping[str, str]) -> IssuingSettings:
    """Read the settings; raises ``BadSettingError``."""
    return IssuingSettings(
        devices=device_settings_from(environ),
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        upload_bytes_max=count_setting(environ, "UPLOAD_BYTES_MAX", default=PAYLOAD_BYTES_MAX),
    )


def landing_settings_from(environ: Mapping[str, str]) -> LandingSettings:
    """Read the settings; raises ``BadSettingError``."""
    return LandingSettings(
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        flows_bucket=text_setting(environ, "FLOWS_BUCKET"),
        flows_max_age_s=count_setting(environ, "FLOWS_MAX_AGE_S", default=FLOWS_MAX_AGE_S),
        sweep_after_s=count_setting(environ, "SWEEP_AFTER_S", default=SWEEP_AFTER_S),
    )


def issuing_settings() -> IssuingSettings:
    return issuing_settings_from(os.environ)


def landing_settings() -> LandingSettings:
    return landing_settings_from(os.environ)
