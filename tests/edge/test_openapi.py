"""What docs/openapi.yaml promises is what a client finds: schemathesis looks for the difference."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from local.checkout import ROOT
from local.platform import Platform
from tests.e2e.devices import Device

pytestmark = [pytest.mark.kafka, pytest.mark.localstack]

SHORT: Final = ("--max-examples", "10", "--phases", "examples,coverage,fuzzing")
FULL: Final = ("--max-examples", "1000", "--phases", "examples,coverage,fuzzing")
HERE: Final = Path(__file__).parent


@pytest.mark.faults
def test_schemathesis_finds_nothing(
    edge: Platform, device: Device, tmp_path: Path, *, faults_are_full: bool
) -> None:
    command = [
        str(Path(sys.executable).with_name("st")),
        *("--config-file", str(HERE / "schemathesis.toml")),
        "run",
        str(ROOT / "docs" / "openapi.yaml"),
        *("--url", edge.endpoints.api),
        *("--header", f"Authorization: Bearer {device.token()}"),
        *("--seed", "1"),
        "--no-color",
        *(FULL if faults_are_full else SHORT),
    ]

    found = subprocess.run(
        [
            "/usr/bin/env",
            "SCHEMATHESIS_HOOKS=tests.edge.openapi_hooks",
            f"PYTHONPATH={ROOT}",
            *command,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stdout + found.stderr
