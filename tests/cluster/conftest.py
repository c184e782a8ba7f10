"""One cluster for all tests of this folder, with what a deploy uploads, built for this machine."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.build import build
from infra.artifacts.jobs import own_python
from local.checkout import ROOT
from local.platform import PlatformSettings
from local.spark.jobs import jobs_of
from operations.ledger.reconciliation import SettlingLimits
from tests.cluster.platform import ClusterPlatform
from tests.e2e.conftest import SLOW_PARSE_MS_MAX, RunningPlatform, running_platform

SETTLING_LIMITS: Final = SettlingLimits(deadline_s=900.0, quiet_s=300.0)
"""A driver that starts anew takes two minutes on two cores that nobody else wants."""


@pytest.fixture(scope="package")
def jobs_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    python = own_python(ROOT) or Path(sys.base_prefix)
    assert list(build(ROOT, folder, Platform.HOST, python=python))
    return folder / "jobs"


@pytest.fixture(scope="package")
def running(
    tmp_path_factory: pytest.TempPathFactory, jobs_built: Path
) -> Iterator[RunningPlatform]:
    settings = PlatformSettings(
        folder=tmp_path_factory.mktemp("cluster"),
        jobs=jobs_of(slow_parse_ms_max=SLOW_PARSE_MS_MAX, has_lake=False),
    )
    with running_platform(
        settings, made=lambda changed: ClusterPlatform(changed, jobs_built=jobs_built)
    ) as platform:
        yield replace(platform, settling_limits=SETTLING_LIMITS)


@pytest.fixture(scope="package")
def cluster(running: RunningPlatform) -> ClusterPlatform:
    assert isinstance(running.platform, ClusterPlatform)
    return running.platform
