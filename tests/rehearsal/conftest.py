"""Each engine's stage, synthesized with what a deploy uploads, and deployed."""

import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

import pytest

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts import archive
from infra.artifacts.build import build
from infra.artifacts.folder import ENVIRONMENT, OPERATORS
from infra.artifacts.jobs import own_python
from local.checkout import FLOWS, ROOT
from tests.infra.synthesis import run_app
from tests.rehearsal.deployed_stage import DeployedStage, Ground
from tests.rehearsal.emr import Emr
from tests.rehearsal.engine_image import EngineImage
from tests.rehearsal.glue import Glue

type Synthesize = Callable[[str], Path]

ON_GLUE, ON_EMR = "dev", "staging"
_LAST_JAR = Path((ROOT / "infra" / "artifacts" / "jars.sha256").read_text().split()[-1]).name
"""Jars are built in the order of this list, and right before the environment."""


@pytest.fixture(scope="package")
def synthesize(tmp_path_factory: pytest.TempPathFactory, *, faults_are_full: bool) -> Synthesize:
    """What ``cdk synth`` writes for a stage.

    EMR's environment has the CPython of ``make python-for-emr``, or, in its place, the one that
    runs this test; in the short form, which has no EMR, it is empty. What the operators' machine
    runs is not rehearsed, and empty. One flow dedupes: without one that job has nothing to do.
    """
    if shutil.which("javac") is None:
        pytest.skip("the broker's side of IAM is compiled: this needs a JDK, and here is a JRE")
    flows = shutil.copytree(FLOWS, tmp_path_factory.mktemp("flows"), dirs_exist_ok=True)
    with (flows / "weather.toml").open("a") as weather:
        weather.write("\n[dedupe]\nwindow_s = 600\n")

    @cache
    def built() -> Path:
        artifacts = tmp_path_factory.mktemp("artifacts")
        python = own_python(ROOT) or Path(sys.base_prefix)
        last = ENVIRONMENT if faults_are_full else _LAST_JAR
        for artifact in build(ROOT, artifacts, Platform.HOST, python=python):
            if artifact.name == last:
                break
        if not faults_are_full:
            archive.write_archive(artifacts / "jobs" / ENVIRONMENT, {})
        archive.write_archive(artifacts / OPERATORS, {})
        return artifacts

    @cache
    def synthesized(stage: str) -> Path:
        out = tmp_path_factory.mktemp(stage)
        ended = run_app({"stage": stage, "artifacts": str(built()), "flows": str(flows)}, out)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return out

    return synthesized


@pytest.fixture(scope="module")
def glue(synthesize: Synthesize, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Glue]:
    with _deployed(partial(synthesize, ON_GLUE), tmp_path_factory.mktemp("glue")) as (stage, image):
        yield Glue(stage=stage, image=image)


@pytest.fixture(scope="module")
def emr(synthesize: Synthesize, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emr]:
    with _deployed(partial(synthesize, ON_EMR), tmp_path_factory.mktemp("emr")) as (stage, image):
        yield Emr(stage=stage, image=image)


@contextmanager
def _deployed(
    synthesized: Callable[[], Path], folder: Path
) -> Iterator[tuple[DeployedStage, EngineImage]]:
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        templates = pool.submit(synthesized)
        ground = stack.enter_context(Ground.started(folder))
        image = EngineImage.made(
            folder / "image", aws=ground.aws, twins=ground.twins, certificate=ground.certificate
        )
        yield DeployedStage.deployed(ground, templates.result()), image
