"""Nothing but events or MalformedMessage comes out of a format, within its caps.

Half a minute for all of them; ten minutes with ``--faults=full``. The seeds are always the same.
"""

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tests.fuzz.subjects import SUBJECTS

ENCODINGS = {"gzip", "deflate", "zstd"}
SEED = 20261103
SHORT_S, FULL_S = 3.4, 34.0
HANGS_S = 300.0


@pytest.mark.faults
@pytest.mark.parametrize("subject", SUBJECTS)
def test_any_bytes_give_events_or_malformed_within_the_caps(
    subject: str, *, faults_are_full: bool
) -> None:
    seconds = FULL_S if faults_are_full else SHORT_S
    command = [sys.executable, "-m", "tests.fuzz", subject]

    ended = subprocess.run(
        [*command, "--seconds", str(seconds), "--seed", str(SEED)],
        capture_output=True,
        text=True,
        timeout=seconds + HANGS_S,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["malformed"] > 0, told
    assert told["parsed"] > 0, told


def test_every_format_and_encoding_is_fuzzed() -> None:
    found = entry_points(group="fleetlane.parsers")
    formats = {one.name for one in found if one.value.startswith("fleetlane.parsers.formats.")}

    assert {name.partition("-")[0] for name in SUBJECTS} == formats | ENCODINGS
