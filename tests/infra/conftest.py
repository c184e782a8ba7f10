import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.infra.synthesis import Synthesized, run_app, synthesized, write_stand_ins

CLOUD_STAGES = ("dev", "staging", "prod")
LOCAL_KAFKA = "127.0.0.1:9092"


@pytest.fixture(scope="session")
def artifacts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    write_stand_ins(folder)
    return folder


@pytest.fixture(scope="session")
def stage_named(
    artifacts_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Synthesized]:
    """Each stage is synthesized once, when a test first asks for it; cdk-nag runs along."""

    @cache
    def of(name: str) -> Synthesized:
        out = tmp_path_factory.mktemp(name)
        began_s = time.monotonic()
        context = {"stage": name, "artifacts": str(artifacts_folder), "kafka": LOCAL_KAFKA}
        module = "tests.infra.app_with_options" if name == "options" else "infra.app"
        ended = run_app(context, out, module=module)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return synthesized(out, seconds=time.monotonic() - began_s)

    return of


@pytest.fixture(scope="session", params=CLOUD_STAGES)
def cloud_stage(
    request: pytest.FixtureRequest, stage_named: Callable[[str], Synthesized]
) -> Synthesized:
    return stage_named(request.param)


@pytest.fixture(scope="session", params=("local", *CLOUD_STAGES))
def any_stage(
    request: pytest.FixtureRequest, stage_named: Callable[[str], Synthesized]
) -> Synthesized:
    return stage_named(request.param)


@pytest.fixture(scope="session")
def dev(stage_named: Callable[[str], Synthesized]) -> Synthesized:
    return stage_named("dev")


@pytest.fixture(scope="session")
def staging(stage_named: Callable[[str], Synthesized]) -> Synthesized:
    return stage_named("staging")


@pytest.fixture(scope="session")
def prod(stage_named: Callable[[str], Synthesized]) -> Synthesized:
    return stage_named("prod")


@pytest.fixture(scope="session")
def local(stage_named: Callable[[str], Synthesized]) -> Synthesized:
    return stage_named("local")


@pytest.fixture(scope="session")
def options(stage_named: Callable[[str], Synthesized]) -> Synthesized:
    """As dev, with all that is off by default."""
    return stage_named("options")
