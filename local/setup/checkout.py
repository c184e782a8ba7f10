"""Where the set-up reads and writes: one checkout, and the environment it was started in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checkout:
    """The root of the checkout and the environment variables, read once."""

    root: Path
    environment: Mapping[str, str]

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def logs(self) -> Path:
        return self.build / "setup"

    def environment_with(self, **changes: str) -> dict[str, str]:
        return {**self.environment, **changes}


def say(line: str) -> None:
    """Show a line to the person who waits; on stderr, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
