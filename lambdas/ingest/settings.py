"""What ingest needs to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clients.environment import count_setting, text_setting
from clients.kafka.security import kafka_security_setting
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S, KafkaSecurity
from fleetlane.events.lanes import REQUEST_BODY_BYTES_MAX
from fleetlane.events.overrides import RateLimits
from lambdas.http.rate_limit_settings import OVERRIDES_MAX_AGE_S, rate_limits_setting

RECEIPTS_WAIT_MS = 200
"""One call for receipts, at most: a repeat that lands once more is no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where bodies go, the largest that is taken, and how long the receipts are waited for.

    Flows and overrides are read again when they are so old. Without ``rate_limits`` a device has
    none but those that the overrides give it.
    """

    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    payload_bucket: str
    spool_bucket: str
    flows_bucket: str
    overrides_bucket: str
    registry_table: str
    receipts_table: str
    receipts_wait_ms: int = RECEIPTS_WAIT_MS
    flows_max_age_s: int = FLOWS_MAX_AGE_S
    overrides_max_age_s: int = OVERRIDES_MAX_AGE_S
    rate_limits: RateLimits | None = None
    body_bytes_max: int = REQUEST_BODY_BYTES_MAX


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises:
        BadSettingError: One is missing or not allowed.
    """
    return Settings(
        kafka_bootstrap_servers=text_setting(environ, "KAFKA_BOOTSTRAP_SERVERS"),
        kafka_security=kafka_security_setting(environ),
        payload_bucket=text_setting(environ, "PAYLOAD_BUCKET"),
        spool_bucket=text_setting(environ, "SPOOL_BUCKET"),
        flows_bucket=text_setting(environ, "FLOWS_BUCKET"),
        flows_max_age_s=count_setting(environ, "FLOWS_MAX_AGE_S", default=FLOWS_MAX_AGE_S),
        overrides_bucket=text_setting(environ, "OVERRIDES_BUCKET"),
        overrides_max_age_s=count_setting(
            environ, "OVERRIDES_MAX_AGE_S", default=OVERRIDES_MAX_AGE_S
        ),
        rate_limits=rate_limits_setting(environ),
        registry_table=text_setting(environ, "REGISTRY_TABLE"),
        receipts_table=text_setting(environ, "RECEIPTS_TABLE"),
        receipts_wait_ms=count_setting(environ, "RECEIPTS_WAIT_MS", default=RECEIPTS_WAIT_MS),
        body_bytes_max=count_setting(environ, "BODY_BYTES_MAX", default=REQUEST_BODY_BYTES_MAX),
    )


def settings() -> Settings:
    return settings_from(os.environ)
