"""What the environment says."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def journal_path(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where the journal lies, by ``LOCALSTACK_JOURNAL``; without it no state is kept."""
    path = environment.get("LOCALSTACK_JOURNAL")
    return Path(path) if path else None


def function_logs_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where functions' output goes, by ``LOCALSTACK_FUNCTION_LOGS``, or beside their code."""
    return Path(environment.get("LOCALSTACK_FUNCTION_LOGS") or tempfile.gettempdir())
