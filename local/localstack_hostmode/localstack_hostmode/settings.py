"""What the environment says."""

import os
from collections.abc import Mapping
from pathlib import Path


def journal_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the journal lies, by ``LOCALSTACK_JOURNAL``; without it nothing starts."""
    return Path(environment["LOCALSTACK_JOURNAL"])
