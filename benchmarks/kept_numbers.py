"""Numbers of several benchmarks in one file: each writes its own, and leaves the others'."""

import json
from collections.abc import Mapping
from pathlib import Path


def write_numbers(path: Path, numbers: Mapping[str, object]) -> str:
    """Put numbers into a JSON file; returns all that it holds then."""
    there = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**there, **numbers}, indent=2) + "\n")
    return path.read_text()
