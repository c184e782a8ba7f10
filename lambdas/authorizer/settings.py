"""What the authorizer needs to know to run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clients.environment import text_setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``registry_table`` is the DynamoDB table of devices."""

    registry_table: str


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises:
        BadSettingError: One is missing.
    """
    return Settings(registry_table=text_setting(environ, "REGISTRY_TABLE"))


def settings() -> Settings:
    return settings_from(os.environ)
