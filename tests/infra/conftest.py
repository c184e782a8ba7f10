import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.infra.synthesis import Synthesized, lint_said, run_app, synthesized, write_stand_ins

CLOUD_STAGES = ("dev", "staging", "prod")
REAL_STAGES = ("local", *CLOUD_STAGES)
STAGES = (*REAL_STAGES, "options")
LOCAL_KAFKA = "127.0.0.1:9092"


@pytest.fixture(scope="session")
def artifacts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    write_stand_ins(folder)
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What takes long, by stage, and begins before a test asks: ``again`` is ``dev`` once more."""

    stages: Mapping[str, Future[Synthesized]]
    again: Future[Synthesized]
    lints: Mapping[str, Future[str]]


@pytest.fixture(scope="session")
def begun(artifacts_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    """Each stage is synthesized once, with cdk-nag; as many at a time as there are cores."""
    folders = {name: tmp_path_factory.mktemp(name) for name in STAGES}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        stages = {
            name: pool.submit(_synthesized, name, artifacts_folder, folder)
            for name, folder in folders.items()
        }
        yield Begun(
            stages=stages,
            again=pool.submit(
                _synthesized, "dev", artifacts_folder, tmp_path_factory.mktemp("again")
            ),
            lints={name: pool.submit(_lint_said, stages[name]) for name in REAL_STAGES},
        )
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def stage_named(begun: Begun) -> Callable[[str], Synthesized]:
    return lambda name: begun.stages[name].result()


def _lint_said(stage: Future[Synthesized]) -> str:
    return lint_said(stage.result().folder)


def _synthesized(name: str, artifacts_folder: Path, out: Path) -> Synthesized:
    context = {"stage": name, "artifacts": str(artifacts_folder), "kafka": LOCAL_KAFKA}
    ended = run_app(context, out, lists_imports=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return synthesized(out, import_times=ended.stderr)


@pytest.fixture(scope="session", params=CLOUD_STAGES)
def cloud_stage(
    request: pytest.FixtureRequest, stage_named: Callable[[str], Synthesized]
) -> Synthesized:
    return stage_named(request.param)


@pytest.fixture(scope="session", params=REAL_STAGES)
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
