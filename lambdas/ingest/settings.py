"""What ingest needs to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from clients.environment import count_setting, text_setting
from clients.kafka.security import kafka_security_setting
from fleetlane.events.job_arguments import KafkaSecurity
from lambdas.http.dependencies import DeviceSettings, device_settings_from

RECEIPTS_WAIT_MS: Final = 200
"""One call for receipts, at most: a repeat that lands once more is no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where messages go, and how long one call for receipts may take."""

    devices: DeviceSettings
    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    payload_bucket: str
    spool_bucket: str
    receipts_table: str
    receipts_wait_ms: int = RECEIPTS_WAIT_MS


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings; raises ``BadSettingError``."""
    return Settings(
        devices=device_settings_from(environ),
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        spool_bucket=text_setting(environ, "SPOOL_BUCKET"),
        receipts_table=text_setting(environ, "RECEIPTS_TABLE"),
        receipts_wait_ms=count_setting(environ, "RECEIPTS_WAIT_MS", default=RECEIPTS_WAIT_MS),
    )


def settings() -> Settings:
    return settings_from(os.environ)
