"""A stage on Glue, synthesized with what a deploy uploads, and deployed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.build import Targets, build
from local.checkout import ROOT
from tests.infra.synthesis import run_app
from tests.rehearsal.deployed_stage import DeployedStage, Ground
from tests.rehearsal.engine_image import EngineImage
from tests.rehearsal.glue import Glue

STAGE = "dev"


@pytest.fixture(scope="package")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``cdk synth`` writes for the stage."""
    if shutil.which("javac") is None:
        pytest.skip("the broker's side of IAM is compiled: this needs a JDK, and here is a JRE")
    artifacts, out = tmp_path_factory.mktemp("artifacts"), tmp_path_factory.mktemp(STAGE)
    assert list(build(ROOT, artifacts, Targets(functions=Platform.HOST, jobs=Platform.HOST)))
    ended = run_app({"stage": STAGE, "artifacts": str(artifacts)}, out)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return out


@pytest.fixture(scope="package")
def glue(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Glue]:
    folder = tmp_path_factory.mktemp("glue")
    with Ground.started(folder) as ground:
        image = EngineImage.made(
            folder / "image", aws=ground.aws, twins=ground.twins, certificate=ground.certificate
        )
        yield Glue(stage=DeployedStage.deployed(ground, templates), image=image)
